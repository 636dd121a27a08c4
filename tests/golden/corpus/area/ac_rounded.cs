using System;
using System.Collections.Generic;
using System.Linq;

class Program {
    static void Main() {
        string s = Console.In.ReadToEnd();
        double r = double.Parse(s.Trim(), System.Globalization.CultureInfo.InvariantCulture);
        Console.WriteLine((Math.PI * r * r).ToString("R", System.Globalization.CultureInfo.InvariantCulture));
    }
}
