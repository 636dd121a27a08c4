module main; initial begin $display("42"); $fatal(1, "no"); end endmodule
