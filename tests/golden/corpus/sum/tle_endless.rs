use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let mut x: u32 = s.len() as u32;
    loop {
        x = x.wrapping_mul(31).wrapping_add(7);
        if x == 1 && s.len() > 1_000_000 { break; }
    }
    writeln!(out, "{}", x).unwrap();
    out.flush().unwrap();
}
