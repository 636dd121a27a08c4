public class Main {
    static int f() { }
    public static void main(String[] args) { f(); }
}
