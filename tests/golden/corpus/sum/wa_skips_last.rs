use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let v: Vec<i64> = s.split_whitespace().map(|w| w.parse().unwrap()).collect();
    let t: i64 = v[1..v.len() - 1].iter().sum();
    writeln!(out, "{}", t).unwrap();
    out.flush().unwrap();
}
