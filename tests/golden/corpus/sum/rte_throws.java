import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        Object nothing = null;
        System.out.println(nothing.toString());
    }
}
