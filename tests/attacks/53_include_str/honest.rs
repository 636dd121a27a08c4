use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let n: Vec<i64> = text.split_whitespace().map(|w| w.parse().unwrap()).collect();
    println!("{}", n[0] * n[1] + n[0] + n[1]);
}
