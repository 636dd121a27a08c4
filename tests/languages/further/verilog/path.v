module main;
  integer n, i, r; real x, y, px, py, sum;
  initial begin
    sum = 0.0; r = $fscanf('h8000_0000, "%d", n);
    for (i = 0; i < n; i = i + 1) begin
      r = $fscanf('h8000_0000, "%f %f", x, y);
      if (i > 0) sum = sum + $sqrt((x - px) ** 2 + (y - py) ** 2);
      px = x; py = y;
    end
    $display("%.6f", sum);
  end
endmodule
