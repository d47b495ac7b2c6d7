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

from tests.bench import perception_speed, round_speed, search_speed, twin_speed, viewer_speed
from tests.bench.measurement import Measurement, NotMeasured, lines

ROWS: dict[str, Callable[[], list[Measurement]]] = {
    "click": perception_speed.click_server,
    "browser": viewer_speed.click_browser,
    "automatic": perception_speed.automatic,
    "sam2": perception_speed.sam2,
    "twin": twin_speed.frame_to_twin,
    "edit": twin_speed.edit_to_twin,
    "sandbox": twin_speed.sandboxed_run,
    "streaming": viewer_speed.streaming,
    "viewer": viewer_speed.first_picture,
    "search": search_speed.search,
    "start": viewer_speed.start,
    "rounds": round_speed.rounds,
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
