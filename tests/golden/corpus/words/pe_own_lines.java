import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        List<String> w = Arrays.asList(s.trim().split("\\s+"));
        Collections.reverse(w);
        System.out.println(" " + String.join("  ", w));
    }
}
