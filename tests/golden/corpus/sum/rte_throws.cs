using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        int[] none = new int[0];
        Console.WriteLine(none[s.Length]);
    }
}
