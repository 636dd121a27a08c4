#include "/tests/secret/1.ans"
int main() {}
