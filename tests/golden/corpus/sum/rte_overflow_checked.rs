use std::io::Read;

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let t: i32 = s.split_whitespace().skip(1).map(|w| w.parse::<i32>().unwrap()).sum();
    println!("{}", t);
}
