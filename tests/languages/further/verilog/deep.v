module main;
  integer n, r;
  function automatic integer depth(input integer k); depth = k == 0 ? 0 : 1 + depth(k - 1); endfunction
  initial begin r = $fscanf('h8000_0000, "%d", n); $display("%0d", depth(n)); end
endmodule
