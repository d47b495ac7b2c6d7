"""Correct what the studio took for granted, and take it back: `python examples/02_correct_the_twin.py PROJECT`."""

import sys

import grs_studio

(folder,) = sys.argv[1:]
project = grs_studio.open_project(folder)
project.begin_writing()
thing = project.scene().placements[0]
project.decide("physics", id=thing.segment_id, mass=0.25, friction=0.4, source="weighed")
project.close()
for step in grs_studio.run(None, folder, until="scene"):
    print(f"{step.stage}: {step.message}")
print(f"{thing.name} now weighs", grs_studio.open_project(folder).scene().placements[0].mass, "kg")

project = grs_studio.open_project(folder)
project.begin_writing()
project.undo()
project.close()
