use std::io::{self, BufRead, Write};

fn main() {
    let (mut low, mut high) = (1, 1000);
    let mut lines = io::stdin().lock().lines();
    loop {
        let guess = (low + high) / 2;
        println!("{}", guess);
        io::stdout().flush().unwrap();
        match lines.next().unwrap().unwrap().as_str() {
            "correct" => return,
            "lower" => high = guess - 1,
            _ => low = guess + 1,
        }
    }
}
