long root(long n);
