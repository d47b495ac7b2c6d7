"""From one photograph with depth to a twin of the table: `python examples/01_photograph_to_twin.py FRAME OUT`."""

import sys

import grs_studio

frame, out = sys.argv[1:]
for step in grs_studio.run(grs_studio.load(frame), out, until="scene"):
    print(f"{step.stage}: {step.message}")

scene = grs_studio.open_project(out).scene()
for thing in scene.placements:
    centre = ", ".join(f"{metres:.3f}" for metres in thing.world_from_object.pos)
    print(f"{thing.name} at {centre} m, {1000 * thing.mass:.0f} g")
