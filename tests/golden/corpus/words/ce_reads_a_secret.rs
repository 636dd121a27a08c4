fn main() {
    println!("{}", include_str!("/scratch/work/answer"));
}
