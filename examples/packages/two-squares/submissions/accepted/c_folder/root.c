#include "root.h"
#include <math.h>

long root(long n) {
    return (long)sqrt((double)n + 0.5);
}
