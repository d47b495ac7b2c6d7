"""Runs one command of the studio with bounded memory, as long as the process that started it lives.

python -m studio.bounded MEMORY_BYTES PARENT_PID run FRAME --out DIR ...
"""

import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
"""https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html"""


def main() -> int:
    memory, parent = int(sys.argv[1]), int(sys.argv[2])
    end_with_parent(parent)
    with suppress(ImportError, ValueError, OSError):  # Windows lacks the module
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    sys.argv = ["grs-studio", *sys.argv[3:]]
    from studio.__main__ import main as run_command

    return run_command()


def end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, on Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
