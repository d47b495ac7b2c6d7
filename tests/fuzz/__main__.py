"""`make fuzz MINUTES=10`: mutate real files for every reader; print what breaks the law and how to repeat it."""

import argparse
import time
from itertools import count
from pathlib import Path

from tests.fuzz.fuzz import Finding, examine, fuzz
from tests.fuzz.readers import READERS

EXAMPLES = 25
"""For one reader before the next one has its turn."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="number of the first round")
    parser.add_argument("--reader", action="append", choices=list(READERS), help="only these")
    parser.add_argument("--out", type=Path, default=Path("fuzz_findings"), help="where files of findings are kept")
    parser.add_argument("--again", type=Path, help="folder of a finding, to be read once more with --reader")
    arguments = parser.parse_args()
    names = arguments.reader or list(READERS)
    if arguments.again:
        files = {
            file.relative_to(arguments.again).as_posix(): file.read_bytes()
            for file in arguments.again.rglob("*") if file.is_file()
        }  # fmt: skip
        print(examine(names[0], files))
        return 0
    end, findings = time.monotonic() + 60 * arguments.minutes, set[str]()
    for number in count(arguments.seed):
        for name in names:
            if time.monotonic() > end:
                print(f"{number - arguments.seed} rounds of {EXAMPLES} examples for {len(names)} readers, "
                      f"{len(findings)} findings")  # fmt: skip
                return 1 if findings else 0
            try:
                fuzz(name, EXAMPLES, number, arguments.out)
            except Finding as finding:
                text = str(finding)
                if text not in findings:
                    folder = arguments.out / f"{name.replace(' ', '_')}_{number}"
                    print(f"{text}\n    python -m tests.fuzz --reader '{name}' --again {folder}", flush=True)
                findings.add(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
