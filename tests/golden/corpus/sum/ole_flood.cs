using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        string line = new string('6', 100000);
        while (true) Console.WriteLine(line);
    }
}
