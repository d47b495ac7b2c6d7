"""The twin in other programs' formats: `python examples/06_export_everywhere.py PROJECT OUT`."""

import sys

import grs_studio

folder, out = sys.argv[1:]
for format, name in (("mjcf", "mjcf"), ("urdf", "urdf"), ("glb", "twin.glb"), ("html", "story.html")):
    for left_out in grs_studio.export(folder, format, f"{out}/{name}"):
        print(f"{format} leaves out: {left_out}")
    print(f"{out}/{name}")
