public class index {
    public static void main(String[] args) {
        System.out.println(args[1]);
    }
}
