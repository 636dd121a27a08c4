import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        StringTokenizer in = new StringTokenizer(s); in.nextToken(); long t = 0;
        while (in.hasMoreTokens()) t += Long.parseLong(in.nextToken());
        System.out.println(t);
    }
}
