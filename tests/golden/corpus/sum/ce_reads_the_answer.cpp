#include "/scratch/work/answer"
int main() {}
