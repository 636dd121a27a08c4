@main struct Main {
    static func main() { let s = readLine()!; print(s.unicodeScalars.count); print(String(s.reversed())) }
}
