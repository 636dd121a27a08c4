using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        long x = s.Length;
        while (x != -1) x = (x * 31 + 7) % 1000003;
        Console.WriteLine(x);
    }
}
