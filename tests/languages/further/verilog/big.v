module tb;
  integer n, i, r, distinct; reg signed [63:0] x, sum, most; reg seen [0:2000000];
  initial begin
    sum = 0; most = 0; distinct = 0; r = $fscanf('h8000_0000, "%d", n);
    for (i = 0; i < n; i = i + 1) begin
      r = $fscanf('h8000_0000, "%d", x); sum = sum + x;
      if (i == 0 || x > most) most = x;
      if (seen[x + 1000000] !== 1'b1) begin seen[x + 1000000] = 1; distinct = distinct + 1; end
    end
    $display("%0d %0d %0d", sum, most, distinct); $finish;
  end
endmodule
