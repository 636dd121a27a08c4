#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
int main(void) {
    unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID);
    setns(open("/proc/1/ns/mnt", O_RDONLY), 0);
    mount("none", "/tmp", "tmpfs", 0, 0);
    mount("proc", "/proc", "proc", 0, 0);
    mknod("disk", S_IFBLK | 0666, makedev(8, 0));
    chroot(".");
    setuid(0);
    for (long call = 0; call < 460; call++) {
        if (call == SYS_keyctl || call == SYS_bpf || call == SYS_perf_event_open || call == SYS_userfaultfd ||
            call == SYS_init_module || call == SYS_kexec_load || call == SYS_open_by_handle_at || call == SYS_pivot_root)
            syscall(call, 0, 0, 0, 0, 0, 0);
    }
    int disk = open("disk", O_RDONLY), engine = open("/var/run/docker.sock", O_RDWR);
    puts(disk >= 0 || engine >= 0 ? "19" : "0");
    return 0;
}
