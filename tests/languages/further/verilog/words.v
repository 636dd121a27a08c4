module main;
  integer n, i, j, k, m, r; reg [8*16-1:0] w; reg [8*16-1:0] ws [0:99]; integer c [0:99];
  initial begin
    m = 0; r = $fscanf('h8000_0000, "%d", n);
    for (i = 0; i < n; i = i + 1) begin
      r = $fscanf('h8000_0000, "%s", w); k = -1;
      for (j = 0; j < m; j = j + 1) if (ws[j] == w) k = j;
      if (k < 0) begin ws[m] = w; c[m] = 1; m = m + 1; end else c[k] = c[k] + 1;
    end
    for (i = 0; i < m; i = i + 1) begin
      k = -1;
      for (j = 0; j < m; j = j + 1) if (c[j] > 0 && (k < 0 || c[j] > c[k] || (c[j] == c[k] && ws[j] < ws[k]))) k = j;
      $display("%0s %0d", ws[k], c[k]); c[k] = 0;
    end
  end
endmodule
