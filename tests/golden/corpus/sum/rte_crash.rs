use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let zero: i64 = (s.len() / 1_000_000) as i64;
    writeln!(out, "{}", 5 / zero).unwrap();
    out.flush().unwrap();
}
