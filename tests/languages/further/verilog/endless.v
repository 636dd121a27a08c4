module main; integer r; function automatic integer f(input integer k); f = 1 + f(k + 1); endfunction
initial begin r = f(0); $display("%0d", r); end endmodule
