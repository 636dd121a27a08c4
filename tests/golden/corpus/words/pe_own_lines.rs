use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    for w in s.split_whitespace().rev() {
        write!(out, " {}", w).unwrap();
    }
    out.flush().unwrap();
}
