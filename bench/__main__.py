"""`make bench`: measure each speed with its budget and a baseline, in the same run.

`make bench ARGS="start viewer"` runs some of the rows; `--out FILE` keeps the figures, `--against FILE ...` prints the
ratio of each row to the median of kept ones. This is not a test: load on the machine makes every number worse, so it is
printed too.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from bench.board import board
from bench.load.measures import crowd, idle_day, open_streams, page_loads, people
from bench.measurement import Measurement, NotMeasured, lines, read_figures, write_figures
from bench.speed import growth, learning, perception, rounds, search, studio_page, twin, viewer

ROWS: dict[str, Callable[[], list[Measurement]]] = {
    "click": perception.click_server,
    "browser": viewer.click_browser,
    "automatic": perception.automatic,
    "sam2": perception.sam2,
    "twin": twin.frame_to_twin,
    "edit": twin.edit_to_twin,
    "growth": growth.growth,
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
    "crowd": crowd,
    "streams": open_streams,
    "loads": page_loads,
    "day": idle_day,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of: {', '.join(ROWS)} (default all)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the figures as JSON")
    parser.add_argument(
        "--against", type=Path, nargs="+", default=[], metavar="FILE", help="kept figures to compare with"
    )
    arguments = parser.parse_args()
    try:
        if unknown := [name for name in arguments.rows if name not in ROWS]:
            raise ValueError(f"unknown row {', '.join(unknown)}; choose from {', '.join(ROWS)}")
        earlier = [read_figures(file) for file in arguments.against]
    except (OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    measurements, notes, before = [], [], load()
    for name in arguments.rows or ROWS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        began = processor_seconds()
        try:
            measurements += ROWS[name]()
            notes.append(f"{name}: {processor_seconds() - began:.1f} s of processor")
        except NotMeasured as reason:
            notes.append(f"{name}: not measured: {reason}")
    print(*lines(measurements, earlier), *notes, sep="\n")
    print(f"{os.cpu_count()} cores; load {before} before, {load()} after (above the number of cores: read with care)")
    if arguments.out:
        write_figures(measurements, arguments.out)
    return 0


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def load() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
