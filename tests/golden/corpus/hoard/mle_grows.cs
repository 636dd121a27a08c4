using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        var kept = new List<byte[]>();
        while (true) { var part = new byte[1 << 22]; for (int i = 0; i < part.Length; i += 4096) part[i] = 1; kept.Add(part); }
    }
}
