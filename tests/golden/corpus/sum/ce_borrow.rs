fn main() {
    let v = vec![1];
    let w = v;
    println!("{:?} {:?}", v, w);
}
