use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let n: u32 = s.trim().parse().unwrap();
    writeln!(out, "1\n{}", n).unwrap();
    out.flush().unwrap();
}
