import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        long x = s.length();
        while (x != -1) x = (x * 31 + 7) & 0xffffff;
        System.out.println(x);
    }
}
