"""Speed of the environment in which policies learn, beside the same physics alone."""

import importlib.util
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from pipeline.learning.decomposition import decompose
from pipeline.learning.layouts import Layouts
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import Recipe, recipe
from pipeline.tasks import Task
from tests.bench.measurement import Measurement, NotMeasured
from tests.tabletop import write

CONTROL_STEPS = 400


def environment() -> list[Measurement]:
    """Time random actions in the environments of reach, pick and place on a table of seven objects."""
    if importlib.util.find_spec("gymnasium") is None:
        raise NotMeasured('gymnasium is missing: pip install "grs-studio[learn]"')
    from pipeline.learning.environment import SubtaskEnv

    with tempfile.TemporaryDirectory() as folder:
        layouts = _layouts(write(Path(folder)))
        task = Task("bowl", "Put the red cube into the white bowl.", (), ("red_cube is inside white_bowl",))
        shares = {}
        for subtask in decompose(task, layouts, PlannerModel()).subtasks:
            env = SubtaskEnv(layouts, subtask)
            seconds, commands = _episodes(env)
            shares[subtask.name.split("_")[0]] = 100 * _bare(env, commands) / seconds
    note = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
    return [
        Measurement(
            "environment of a subtask, share of bare mj_step speed", float(np.mean(list(shares.values()))), "%",
            budget=60, at_least=True, note=f"{note}; processor time of the same commands",
        )
    ]  # fmt: skip


def _layouts(table: Path) -> Layouts:
    scene = kit.Scene.load(table)

    def build(seed: int) -> Recipe:
        sim = kit.Simulation(scene, seed)
        sim.scatter("red_cube")
        sim.goal(kit.inside("red_cube", "white_bowl"))
        return recipe(sim)

    return Layouts(scene, lambda seeds: [build(seed) for seed in seeds])


def _episodes(env) -> tuple[float, list[np.ndarray]]:
    """Return the processor time of random actions with all that an environment does, and the commands they became."""
    actions = np.random.default_rng(0).uniform(-1, 1, (CONTROL_STEPS, 5))
    env.reset(seed=0)
    commands, start = [], time.process_time()
    for action in actions:
        _, _, ended, cut_off, _ = env.step(action)
        commands.append(env.world.data.ctrl.copy())
        if ended or cut_off:
            env.reset()
    return time.process_time() - start, commands


def _bare(env, commands: list[np.ndarray]) -> float:
    """Return the processor time of MuJoCo alone under the same commands."""
    model, data = env.world.model, env.world.data
    env.reset(seed=0)
    start = time.process_time()
    for command in commands:
        data.ctrl[:] = command
        mujoco.mj_step(model, data, nstep=env.world.control.rate.steps)
    return time.process_time() - start
