"""The solved layouts as a LeRobot dataset: `python examples/08_demonstrations_for_learning.py PROJECT OUT`."""

import sys

import grs_studio

folder, out = sys.argv[1:]
for left_out in grs_studio.export(folder, "lerobot", out):
    print(f"left out: {left_out}")
print(f"lerobot-train --dataset.repo_id=local/twin --dataset.root={out} --policy.type=act")
