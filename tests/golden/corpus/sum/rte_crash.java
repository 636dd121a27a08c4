import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        deep(0);
    }

    static int deep(int n) {
        return 1 + deep(n + 1) + deep(n + 2);
    }
}
