"""Two arms hand a cube over, on the sample `blocks`: `python examples/11_pick_pass_place.py FRAME OUT`.

Needs the model of the arms: `pip install --no-deps gym-aloha==0.1.5`.
"""

import sys

import grs_studio

frame, out = sys.argv[1:]
words = "Move the red cube next to the yellow block."
for step in grs_studio.run(grs_studio.load(frame), out, task=words, robot="aloha"):
    print(f"{step.stage}: {step.message}")

project = grs_studio.open_project(out)
solution = project.solution()
for event in solution.shown.events:
    print(f"{event['time']:5.1f} s  {event['verb']} {event['object']} {event['target']}")
print(f"solved on {sum(solution.success)} of {len(solution.seeds)} layouts by {solution.source}")
print(*project.doubts(solution), sep="\n")
