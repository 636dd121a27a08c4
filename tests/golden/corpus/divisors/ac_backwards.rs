use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let n: u32 = s.trim().parse().unwrap();
    for d in (1..=n).rev().filter(|d| n % d == 0) {
        writeln!(out, "{}", d).unwrap();
    }
    out.flush().unwrap();
}
