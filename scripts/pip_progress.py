"""Turn pip's log on stdin into progress: one changing line on a terminal, else a line for every 20 packages."""

import re
import sys


def main() -> None:
    """Read until the end of stdin."""
    terminal, count, shown = sys.stdout.isatty(), 0, 0
    for line in iter(sys.stdin.readline, ""):
        if line.startswith(("Collecting", "Requirement already satisfied")):
            count += 1
        package = re.match(r"\s*(Downloading|Using cached) (?:\S*/)?([^/\s]+ \(.*\))", line)
        if package and ".metadata" not in line:
            text = f"  {count:4d}  {'cached' if package[1] != 'Downloading' else 'downloaded'} {package[2]}"[:100]
            if terminal:
                print(f"\r\033[K{text}", end="", flush=True)
            elif shown % 20 == 0:
                print(text, flush=True)
            shown += 1
        elif line.startswith(("Installing collected packages", "Building wheel")):
            print(("\r\033[K" if terminal else "") + "  unpacking ...", end="" if terminal else "\n", flush=True)
    if terminal:
        print("\r\033[K", end="", flush=True)


if __name__ == "__main__":
    main()
