using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        int n = int.Parse(s.Trim());
        for (int d = 1; d <= n / 2; d++) if (n % d == 0) Console.WriteLine(d);
    }
}
