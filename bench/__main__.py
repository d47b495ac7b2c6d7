"""`make bench`: measure each speed with its budget and a baseline, in the same run.

`make bench ARGS="start viewer"` runs some of the rows. This is not a test: load on the machine makes every number
worse, so it is printed too.
"""

import os
import sys
from collections.abc import Callable

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from bench.board import board
from bench.load.measures import open_streams, page_loads, people
from bench.measurement import Measurement, NotMeasured, lines
from bench.speed import learning, perception, rounds, search, studio_page, twin, viewer

ROWS: dict[str, Callable[[], list[Measurement]]] = {
    "click": perception.click_server,
    "browser": viewer.click_browser,
    "automatic": perception.automatic,
    "sam2": perception.sam2,
    "twin": twin.frame_to_twin,
    "edit": twin.edit_to_twin,
    "sandbox": twin.sandboxed_run,
    "streaming": viewer.streaming,
    "viewer": viewer.first_picture,
    "search": search.search,
    "start": viewer.start,
    "board": board,
    "rounds": rounds.rounds,
    "page": studio_page.studio_page,
    "learning": learning.environment,
    "people": people,
    "streams": open_streams,
    "loads": page_loads,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"bench: unknown row {', '.join(unknown)}; choose from {', '.join(ROWS)}", file=sys.stderr)
        return 2
    measurements, skipped, before = [], [], load()
    for name in names or ROWS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            measurements += ROWS[name]()
        except NotMeasured as reason:
            skipped.append(f"{name}: not measured: {reason}")
    print(*lines(measurements), *skipped, sep="\n")
    print(f"{os.cpu_count()} cores; load {before} before, {load()} after (above the number of cores: read with care)")
    return 0


def load() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
