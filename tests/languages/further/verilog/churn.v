module main; integer i, r; initial forever begin r = 0; for (i = 0; i < 1000; i = i + 1) r = r + i * 7; end endmodule
