#include <cmath>
#include <cstdio>

int main() {
    double r;
    if (scanf("%lf", &r) == 1) printf("%.12E\n", M_PI * r * r);
}
