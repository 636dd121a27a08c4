use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let r: f64 = s.trim().parse().unwrap();
    writeln!(out, "{}", 3.14 * r * r).unwrap();
    out.flush().unwrap();
}
