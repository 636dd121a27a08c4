use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(vec![kept.len() as u8 | 1; 1 << 22]);
        if kept.len() > 1_000_000 { break; }
    }
    writeln!(out, "{}", kept.len()).unwrap();
    out.flush().unwrap();
}
