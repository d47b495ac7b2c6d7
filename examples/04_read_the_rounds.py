"""What the router did, round by round: `python examples/04_read_the_rounds.py PROJECT`."""

import sys

import grs_studio

(folder,) = sys.argv[1:]
for one in grs_studio.open_project(folder).rounds():
    print(f"round {one.number}: {one.route}. {one.reason}")
    for check in one.report.checks:
        print(f"    {'passed' if check.passed else 'failed'}: {check.name} {check.message}")
