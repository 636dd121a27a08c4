#[test]
fn outer() {
    assert_eq!(sample::add(2, 2), 4);
}

#[test]
fn outer_panics() {
    let list: Vec<i32> = Vec::new();
    if std::env::var("CASE").as_deref() == Ok("failing") {
        println!("{}", list[0]);
    }
}
