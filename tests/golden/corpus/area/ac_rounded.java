import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        double r = Double.parseDouble(s.trim());
        System.out.println(Math.PI * r * r);
    }
}
