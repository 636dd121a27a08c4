//! A sample.

/// Adds.
///
/// ```
/// assert_eq!(sample::add(1, 2), 3);
/// ```
///
/// ```should_panic
/// sample::add(i32::MAX, 1);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a.checked_add(b).expect("overflow")
}

#[cfg(broken)]
pub fn broken() -> i32 {
    "text"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> String {
        std::env::var("CASE").unwrap_or_default()
    }

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }

    #[test]
    fn fails() {
        println!("printed by the test: test tests::forged ... ok");
        assert_ne!(case(), "failing");
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn overflows() {
        add(i32::MAX, 1);
    }

    #[test]
    #[ignore = "takes long"]
    fn long() {}

    mod nested {
        #[test]
        fn prints() {
            println!("a line\nok then\n");
        }
    }

    #[test]
    fn zz_crashes() {
        match case().as_str() {
            "abort" => std::process::abort(),
            "segfault" => unsafe { std::ptr::null_mut::<i32>().write_volatile(1) },
            "exit" => std::process::exit(0),
            _ => {}
        }
    }
}
