import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        String[] w = s.trim().split("\\s+"); long t = 0;
        for (int i = 1; i < w.length - 1; i++) t += Long.parseLong(w[i]);
        System.out.println(t);
    }
}
