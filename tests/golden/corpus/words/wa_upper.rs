use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let r: String = s.trim().chars().rev().collect();
    writeln!(out, "{}!", r).unwrap();
    out.flush().unwrap();
}
