use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let mut w: Vec<&str> = s.split_whitespace().collect();
    w.reverse();
    writeln!(out, "{}", w.join(" ")).unwrap();
    out.flush().unwrap();
}
