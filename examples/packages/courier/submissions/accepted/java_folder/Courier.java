import java.util.Scanner;

public class Courier {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        Codec codec = new Codec();
        System.out.println(in.next().equals("send") ? codec.encoded(in.nextLong()) : "" + codec.decoded(in.next()));
    }
}
