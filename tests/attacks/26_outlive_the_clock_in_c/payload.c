#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
int main(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    struct itimerval none = {{0, 0}, {0, 0}};
    for (int which = 0; which < 3; which++) setitimer(which, &none, 0);
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &most);
    for (volatile unsigned long n = 0;; n++) {}
}
