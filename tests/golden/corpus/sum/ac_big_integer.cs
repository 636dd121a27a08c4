using System;
using System.Numerics;

class Program {
    static void Main() {
        int n = int.Parse(Console.ReadLine());
        BigInteger total = 0;
        foreach (var word in Console.ReadLine().Split(' ')) total += BigInteger.Parse(word);
        Console.WriteLine(total);
    }
}
