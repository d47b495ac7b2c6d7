"""How far anything moves in two seconds: `python examples/05_simulate_the_twin.py PROJECT`."""

import sys

import mujoco

import grs_studio

(folder,) = sys.argv[1:]
model = grs_studio.twin(folder)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
before = data.xpos.copy()
while data.time < 2:
    mujoco.mj_step(model, data)
for body in range(1, model.nbody):
    moved = 1000 * ((data.xpos[body] - before[body]) ** 2).sum() ** 0.5
    print(f"{model.body(body).name}: {moved:.2f} mm")
