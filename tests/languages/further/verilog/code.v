module main; integer c, r;
  initial begin r = $fscanf('h8000_0000, "%d", c); $display("42"); if (c != 0) $fatal(0); $finish; end
endmodule
