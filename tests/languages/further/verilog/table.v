module main;
  integer n; integer d [];
  initial begin n = 1024; forever begin n = n * 2; d = new [n] (d); d[n - 1] = n; end end
endmodule
