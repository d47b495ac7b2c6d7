"""Takes from this very process, for good, all that a simulation does not need: files, network, processes, memory.

Landlock (https://docs.kernel.org/userspace-api/landlock.html) closes the file system, seccomp closes the kernel's
other doors, resource limits bound what is left. All three outlive any trick in Python: only the kernel could undo
them, and it does not. Where a platform lacks one, `coverage` says so in words and the rest still holds.
"""

import ctypes
import errno
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

MEGABYTE = 1 << 20

COMPUTING = """
    read readv pread64 write writev close lseek fstat newfstatat fstatat64 stat lstat statx access faccessat faccessat2
    readlink readlinkat getcwd getdents64 fcntl dup dup2 dup3
    mmap munmap mremap mprotect madvise brk futex futex_wait set_robust_list rseq get_robust_list membarrier
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending sigaltstack restart_syscall
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage sysinfo uname
    sched_yield sched_getaffinity sched_get_priority_max sched_get_priority_min sched_getscheduler sched_getparam
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getpgrp getpgid getsid getrlimit
    getrandom poll ppoll select pselect6 set_tid_address arch_prctl getcpu exit exit_group
"""
"""What numpy and MuJoCo ask of the kernel, beside opening files for reading (under Landlock's eyes) and threads.
Everything not named is refused: sockets, new processes and programs, other processes' memory and signals, mounts,
namespaces, changed modes, owners and times of files, io_uring, bpf, keys, new seccomp or prctl calls."""

_WRITING = (
    os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~getattr(os, "O_DIRECTORY", 0)
)
_THREAD = 0x00010000  # CLONE_THREAD


def coverage() -> dict[str, bool]:
    """Which protections this platform has: "files", "calls", "memory"."""
    return {"files": _landlock_abi() > 0, "calls": _seccomp() is not None, "memory": sys.platform == "linux"}


def confine(readable: Iterable[Path], seconds: float, memory_mb: int) -> None:
    """Confines this process, which must have one thread. Cannot be undone.

    `readable` files and folders, and Python's own libraries, can be read; nothing can be written. `memory_mb` is what
    the process may use beyond what it has now; `seconds` of processor time is the last line behind the warden's clock.
    """
    seccomp = _seccomp()  # found while files can still be read
    _limit(seconds, memory_mb)
    if _landlock_abi() > 0:
        _close_files([*readable, *libraries()])
    if seccomp is not None:
        _close_calls(seccomp)


def _limit(seconds: float, memory_mb: int) -> None:
    import resource  # not on Windows, where this file can still be read

    now = _address_space()
    limits = {"CPU": int(seconds) + 2, "FSIZE": 0, "CORE": 0, "NOFILE": 64, "MEMLOCK": 0}
    # macOS cannot bound the address space of a process that has mapped the system's shared cache.
    if now is not None:
        limits["AS"] = now + memory_mb * MEGABYTE
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _address_space() -> int | None:
    """Bytes mapped now; None where the platform does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _landlock_abi() -> int:
    """Version of Landlock in this kernel; 0 where there is none."""
    try:
        import landlock

        ctypes.set_errno(0)  # the wheel takes any old errno for a failure of its own call
        return landlock.landlock_abi_version()
    except (ImportError, OSError, AttributeError, TypeError):
        return 0


def _close_files(readable: Iterable[Path]) -> None:
    from landlock import FSAccess, Ruleset

    ctypes.set_errno(0)
    rules = Ruleset()
    for path in readable:
        if path.exists():
            folder = FSAccess.READ_FILE | FSAccess.READ_DIR
            rules.allow(path, rules=folder if path.is_dir() else FSAccess.READ_FILE)
    rules.apply()


def libraries() -> set[Path]:
    """Python's standard library and its installed packages, for imports that numpy or MuJoCo put off."""
    return {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def _seccomp():
    try:
        import pyseccomp

        return pyseccomp
    except (ImportError, RuntimeError, OSError):
        return None


def _close_calls(seccomp) -> None:
    calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in COMPUTING.split():
        # The lists of processors differ in their older calls; what one lacks it cannot be asked.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) != -1:
            calls.add_rule(seccomp.ALLOW, name)
    # Opened is only what is opened for reading, also where there is no Landlock to say so.
    for name, flags in (("open", 1), ("openat", 2)):
        calls.add_rule(seccomp.ALLOW, name, seccomp.Arg(flags, seccomp.MASKED_EQ, _WRITING, 0))
    # A thread is a clone that shares; a process is one that does not. clone3 hides its flags behind a pointer, so it
    # is said not to exist and the C library falls back to clone.
    calls.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _THREAD, _THREAD))
    calls.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    # abort() signals its own process; no other may be.
    calls.add_rule(seccomp.ALLOW, "tgkill", seccomp.Arg(0, seccomp.EQ, os.getpid()))
    calls.load()
