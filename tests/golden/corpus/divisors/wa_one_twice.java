import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        int n = Integer.parseInt(s.trim());
        for (int d = 2; d <= n; d++) if (n % d == 0) System.out.println(d);
    }
}
