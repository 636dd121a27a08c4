import java.util.*;

public class Main {
    public static void main(String[] args) throws Exception {
        String s = new String(System.in.readAllBytes());
        List<byte[]> kept = new ArrayList<>();
        while (true) { byte[] part = new byte[1 << 20]; Arrays.fill(part, (byte) 1); kept.add(part); }
    }
}
