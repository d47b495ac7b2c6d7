"""Speed of the environment in which policies learn, beside the same physics alone."""

import importlib.util
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
from tabletop import write

from bench.measurement import Measurement, NotMeasured
from pipeline.learning.decomposition import decompose
from pipeline.learning.layouts import Layouts
from pipeline.learning.subtask import Subtask
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import Recipe, recipe
from pipeline.tasks import Task

CONTROL_STEPS = 400
PARALLEL_STEPS = 40
"""Of all environments, after as many that are not timed."""


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
        gain, used = _gain(layouts, subtask)
    note = ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())
    return [
        Measurement(
            "environment of a subtask, share of bare mj_step speed", float(np.mean(list(shares.values()))), "%",
            budget=60, at_least=True, note=f"{note}; processor time of the same commands",
        ),
        Measurement("environments side by side, speed in one process", gain, "x", note=f"wall clock; {used}"),
    ]  # fmt: skip


def _gain(layouts: Layouts, subtask: Subtask) -> tuple[float, str]:
    """Return how many times as many control steps a second this machine's way of training takes, and what it uses."""
    from pipeline.learning.subtask_world import SubtaskWorld
    from pipeline.learning.training import TrainingOptions, TrainingStarts, on_this_machine, side_by_side

    world = SubtaskWorld(layouts, subtask)
    starts = TrainingStarts([world.settled(one) for one in layouts.get(range(8))], ())
    options, rates = on_this_machine(TrainingOptions()), []
    for one in (TrainingOptions(), options):
        envs, random = side_by_side(subtask, layouts, starts, one), np.random.default_rng(0)
        envs.reset()
        start = 0.0
        for number in range(2 * PARALLEL_STEPS):
            if number == PARALLEL_STEPS:
                start = time.monotonic()
            envs.step(random.uniform(-1, 1, (envs.num_envs, 5)).astype(np.float32))
        rates.append(envs.num_envs / (time.monotonic() - start))
        envs.close()
    return rates[1] / rates[0], "GPU" if options.on_gpu else f"{options.processes} processors"


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
