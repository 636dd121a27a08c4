using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        Console.WriteLine(s.Split(new char[]{' ', '\n'}, StringSplitOptions.RemoveEmptyEntries).Skip(1).Select(long.Parse).Sum());
    }
}
