import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        int n = Integer.parseInt(s.trim());
        for (int d = n; d > 0; d--) if (n % d == 0) System.out.println(d);
    }
}
