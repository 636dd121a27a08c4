use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let t: i64 = s.split_whitespace().skip(1).map(|w| w.parse::<i64>().unwrap()).sum();
    writeln!(out, "{}", t).unwrap();
    out.flush().unwrap();
}
