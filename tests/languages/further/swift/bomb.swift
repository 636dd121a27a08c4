func f0<T>(_ x: T) -> (T, T) { return (x, x) }
let a = f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(f0(1))))))))))))))))))))))))))))))
print(42)
