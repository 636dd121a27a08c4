using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        string none = null;
        Console.WriteLine(none.Length);
    }
}
