"""Privileges of a process, and its end with its parent.

https://man7.org/linux/man-pages/man7/capabilities.7.html, https://man7.org/linux/man-pages/man2/prctl.2.html
"""

import contextlib
import ctypes
import os
import signal
import sys

from pipeline.confinement.libc import call, prctl

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
"""Layout of `capset` with 64 capabilities in two words of each set."""


def end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, asleep or busy; end at once if that has happened already.

    Does nothing outside Linux. `confine` keeps it.

    Args:
        parent: Process id of the parent, which the parent itself took by os.getpid(). The kernel means the *thread*
            that started this process, so that thread must live as long.
    """
    if sys.platform != "linux":
        return
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call above
        os._exit(1)


def drop_capabilities() -> None:
    """Give up every capability, also those that a later program could get, permanently. Raises OSError."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # after the kernel's last one; or at once without the capability to drop others
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    call("capset", header, sets)
