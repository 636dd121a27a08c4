using System;
using System.Globalization;

class Period {
    static void Main() {
        double length = double.Parse(Console.ReadLine(), CultureInfo.InvariantCulture);
        Console.WriteLine((2 * Math.PI * Math.Sqrt(length / 9.81)).ToString("E8", CultureInfo.InvariantCulture));
    }
}
