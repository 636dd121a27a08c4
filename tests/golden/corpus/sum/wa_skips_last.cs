using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        var w = s.Split(new char[]{' ', '\n'}, StringSplitOptions.RemoveEmptyEntries); long t = 0;
        for (int i = 1; i < w.Length - 1; i++) t += long.Parse(w[i]);
        Console.WriteLine(t);
    }
}
