module leaf; reg [63:0] x; initial x = 1; endmodule
module main;
  genvar i, j;
  generate for (i = 0; i < 100000; i = i + 1) for (j = 0; j < 100000; j = j + 1) leaf l(); endgenerate
  initial $display("42");
endmodule
