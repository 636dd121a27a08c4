module main; initial $display("%0d", twice(21)); endmodule
