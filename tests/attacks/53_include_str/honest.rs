use std::io::read_to_string;

fn main() {
    let text = read_to_string(std::io::stdin()).unwrap();
    let n: Vec<i64> = text.split_whitespace().map(|w| w.parse().unwrap()).collect();
    println!("{}", n[0] * n[1] + n[0] + n[1]);
}
