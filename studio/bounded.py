"""Runs one command of the studio with bounded memory, as long as the process that started it lives.

python -m studio.bounded MEMORY_BYTES PARENT_PID run FRAME --out DIR ...
"""

import sys
from contextlib import suppress

from pipeline.confinement import end_with_parent


def main() -> int:
    memory, parent = int(sys.argv[1]), int(sys.argv[2])
    end_with_parent(parent)
    with suppress(ImportError, ValueError, OSError):  # Windows lacks the module
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    sys.argv = ["grs-studio", *sys.argv[3:]]
    from studio.__main__ import main as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(main())
