"""`make bench`: each speed beside its budget and beside the bare minimum, measured in the same run.

`make bench ARGS="start viewer"` runs some of the rows. Not a test: a busy machine makes every number worse, so the
load is printed with them.
"""

import os
import sys
from collections.abc import Callable

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from tests.bench import finding, making, seeing, showing
from tests.bench.reading import Reading, Skipped, lines

ROWS: dict[str, Callable[[], list[Reading]]] = {
    "click": seeing.click_server,
    "browser": showing.click_browser,
    "automatic": seeing.automatic,
    "sam2": seeing.sam2,
    "twin": making.frame_to_twin,
    "edit": making.edit_to_twin,
    "sandbox": making.sandboxed_run,
    "streaming": showing.streaming,
    "viewer": showing.first_picture,
    "search": finding.search,
    "start": showing.start,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"bench: no row is called {', '.join(unknown)}; there are {', '.join(ROWS)}", file=sys.stderr)
        return 2
    readings, skipped, before = [], [], load()
    for name in names or ROWS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            readings += ROWS[name]()
        except Skipped as why:
            skipped.append(f"{name}: not measured: {why}")
    print(*lines(readings), *skipped, sep="\n")
    print(f"{os.cpu_count()} cores; load {before} before, {load()} after (above the number of cores: read with care)")
    return 0


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
