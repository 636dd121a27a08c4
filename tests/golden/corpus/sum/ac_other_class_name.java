import java.util.Scanner;

class Adder {
    long total = 0;
}

public class Solution {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        Adder adder = new Adder();
        for (int n = in.nextInt(); n > 0; n--) adder.total += in.nextLong();
        System.out.println(adder.total);
    }
}
