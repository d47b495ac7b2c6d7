"""seccomp: allows the system calls that numpy, MuJoCo and mesh readers need, and denies all others.

https://man7.org/linux/man-pages/man2/seccomp.2.html. Constants are Linux's, the same on x86-64 and arm64.
"""

import errno
import os
from types import ModuleType

ALLOWED = """
    read readv pread64 write writev close lseek fstat newfstatat fstatat64 stat lstat statx access faccessat faccessat2
    readlink readlinkat getcwd getdents64 dup dup2 dup3
    mmap munmap mremap mprotect brk futex futex_wait set_robust_list rseq get_robust_list membarrier
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending sigaltstack restart_syscall
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage sysinfo uname
    sched_yield sched_getaffinity sched_get_priority_max sched_get_priority_min sched_getscheduler sched_getparam
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getpgrp getpgid getsid getrlimit
    getrandom poll ppoll select pselect6 set_tid_address arch_prctl getcpu exit exit_group
"""
"""Allowed with any arguments. Denied are, besides those with rules of their own below: sockets, new processes and
programs, other processes' memory and signals, mounts, namespaces, changed modes, owners and times of files, io_uring,
bpf, keys, new seccomp or prctl calls."""

ALLOWED_FOR_WRITING = """
    pwrite64 writev statfs fstatfs ftruncate fallocate fsync fdatasync mkdir mkdirat rmdir unlink unlinkat
    rename renameat renameat2
    chmod fchmod fchmodat utimensat umask flock sendfile copy_file_range
"""
"""Allowed besides where files may be written; Landlock limits which."""

ALLOWED_FOR_PROGRAMS = "fork vfork execve wait4 waitid pipe pipe2 kill"
"""Allowed besides where programs may be started; Landlock limits which, and whom they may signal."""

ALLOWED_FOR_DEVICE_EVENTS = "bind setsockopt getsockopt getsockname recvmsg statfs fstatfs eventfd2 pipe2"
"""Allowed for librealsense, on the one kind of socket that can be made: without devices' events it opens no file."""
AF_NETLINK, NETLINK_KOBJECT_UEVENT = 16, 15

F_SETFL = 4
FCNTL_COMMANDS = {"F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_DUPFD_CLOEXEC": 1030}
"""Commands of fcntl on the process's own descriptors. F_SETOWN and F_SETSIG would let the kernel send signals for it;
F_SETFL is allowed without O_ASYNC, which would start that."""

MADVISE_ADVICE = {
    "NORMAL": 0, "RANDOM": 1, "SEQUENTIAL": 2, "WILLNEED": 3, "DONTNEED": 4, "FREE": 8, "HUGEPAGE": 14,
    "NOHUGEPAGE": 15, "DONTDUMP": 16, "DODUMP": 17, "COLD": 20, "GUARD_INSTALL": 102, "GUARD_REMOVE": 103,
}  # fmt: skip
"""Advice to the kernel about the process's own memory, as allocators and thread libraries give it. Not among it:
HWPOISON and SOFT_OFFLINE take memory from the machine, MERGEABLE and PAGEOUT measure what others have in memory, REMOVE
frees parts of shared files."""

WRITE_FLAGS = (
    os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | (getattr(os, "O_TMPFILE", 0) & ~getattr(os, "O_DIRECTORY", 0))
)
O_ASYNC, RLIMIT_CPU = 0o20000, 0
CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME."""


def library() -> ModuleType | None:
    """Return the module that loads filters; None if libseccomp is not installed or this is not Linux."""
    try:
        import pyseccomp

        return pyseccomp
    except (ImportError, RuntimeError, OSError):
        return None


def restrict(seccomp: ModuleType, writes: bool = False, programs: bool = False, device_events: bool = False) -> None:
    """Deny this process all system calls but the allowed ones; they fail with "not permitted".

    Args:
        seccomp: What `library` returned before files became unreadable.
        writes: Whether files may be written; Landlock must then limit which.
        programs: Whether programs may be started; Landlock must then limit which.
        device_events: Whether the kernel's messages about new devices may be received.
    """
    allow, equal, masked = seccomp.ALLOW, seccomp.EQ, seccomp.MASKED_EQ
    calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))

    def add(action: int, name: str, *conditions: tuple) -> None:
        # Processor architectures differ in their older calls; skip what this one lacks.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) != -1:
            calls.add_rule(action, name, *(seccomp.Arg(*condition) for condition in conditions))

    more = (ALLOWED_FOR_WRITING if writes else "") + " " + (ALLOWED_FOR_PROGRAMS if programs else "")
    more += " " + (ALLOWED_FOR_DEVICE_EVENTS if device_events else "")
    for name in {*ALLOWED.split(), *more.split()}:
        add(allow, name)
    if device_events:
        add(allow, "socket", (0, equal, AF_NETLINK), (2, equal, NETLINK_KOBJECT_UEVENT))
    for name, flags in (("open", 1), ("openat", 2)):  # for reading only, even where there is no Landlock
        add(allow, name, *([] if writes else [(flags, masked, WRITE_FLAGS, 0)]))
    for command in FCNTL_COMMANDS.values():
        add(allow, "fcntl", (1, equal, command))
    add(allow, "fcntl", (1, equal, F_SETFL), (2, masked, O_ASYNC, 0))
    for advice in MADVISE_ADVICE.values():
        add(allow, "madvise", (2, equal, advice))
    add(allow, "prlimit64", (0, equal, 0), (2, equal, 0))  # reads its own limits
    add(allow, "prlimit64", (0, equal, 0), (1, equal, RLIMIT_CPU))  # and lowers its processor time
    # clone with CLONE_THREAD makes a thread, without it a process. clone3 has its flags behind a pointer, so it is
    # reported as missing and the C library falls back to clone.
    add(
        allow,
        "clone",
        (0, masked, CLONE_NAMESPACES if programs else CLONE_THREAD | CLONE_NAMESPACES, 0 if programs else CLONE_THREAD),
    )
    add(seccomp.ERRNO(errno.ENOSYS), "clone3")
    # abort() signals its own process; signals to others are denied.
    add(allow, "tgkill", (0, equal, os.getpid()))
    calls.load()
