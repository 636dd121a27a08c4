module main;
  integer c, n, i, j, k, letters; reg [7:0] s [0:9999];
  initial begin
    n = 0; letters = 0; c = $fgetc('h8000_0000);
    while (c != -1 && c != 10) begin s[n] = c; n = n + 1; if ((c & 'hc0) != 'h80) letters = letters + 1; c = $fgetc('h8000_0000); end
    $display("%0d", letters);
    for (i = n - 1; i >= 0; i = i - 1) if ((s[i] & 8'hc0) != 8'h80) begin
      $write("%c", s[i]);
      for (k = i + 1; k < n && (s[k] & 8'hc0) == 8'h80; k = k + 1) $write("%c", s[k]);
    end
    $write("\n"); $finish(0);
  end
endmodule
