"""The one place that locks files: `flock`, which the kernel releases when a process ends."""

import errno
from typing import Literal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""Errors of file systems without locks, such as some network disks."""


def try_lock(file: int) -> Literal["locked", "busy", "unsupported"]:
    """Lock an open file for this process if no other has it. The lock lasts until the file is closed."""
    if fcntl is None:
        return "unsupported"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "busy"
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return "unsupported"
        raise
    return "locked"
