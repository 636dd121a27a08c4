use std::io::{Read, Write};

fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut out = std::io::stdout();
    let none: Option<i32> = None;
    writeln!(out, "{}", none.unwrap()).unwrap();
    out.flush().unwrap();
}
