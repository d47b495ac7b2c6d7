"""`python -m bench.altered_endings PROJECT ... [--drawn 200]`: do the endings that checks must refuse break the goals?

Takes twins (`grs-studio run FRAME --out PROJECT --until scene`): all tasks that are proposed for them on the
photographed layout, then so many layouts drawn from seeds. Each altered ending is measured by the goals of the program,
and by the task's own checks, which measure poses. One that satisfies either is counted. Half of the tasks also leave
the rest alone.
"""

import argparse
import math
import sys
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from pipeline.planner.plans import TaskPlan, why_infeasible
from pipeline.planner.program_writer import GENERAL_CHECKS, check_functions, simulation_source
from pipeline.planner.proposals import proposals
from pipeline.simulation import kit
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.mutations import displaced_runs
from pipeline.tasks import scene_to_json


def tasks_of(scene: kit.Scene) -> Iterator[TaskPlan]:
    """Yield the proposed tasks; every second one also leaves alone what it does not name."""
    data = scene_to_json(scene)
    for number, plan in enumerate(proposals(data)):
        named = {name for goal in plan.goals for name in goal.objects}
        rest = [PlannedGoal("stay", (one.name,)) for one in scene.objects if one.name not in named and not one.fixed]
        wider = replace(plan, goals=(*plan.goals, *rest))
        yield wider if number % 2 and rest and not why_infeasible(wider.goals, data) else plan


def simulation(plan: TaskPlan, scene: kit.Scene, seed: int) -> Any:
    """Return the arranged kit.Simulation of the planner's program."""
    module = types.ModuleType("simulation")
    exec(simulation_source(plan.instruction, plan.goals, scene_to_json(scene)), {"kit": kit}, vars(module))
    return module.build(scene, seed)


def passes(run: Any, sim: Any, checks: dict[str, Any]) -> bool:
    """Return whether all checks of the task's own goals pass on an ending."""
    seen = SimpleNamespace(rollout=lambda: run, scene=sim.scene, objects=sim.objects, zones=sim.zones)
    for check in checks.values():
        try:
            check(seen)
        except AssertionError:
            return False
    return True


def measured(plan: TaskPlan, scene: kit.Scene, seed: int) -> Counter[str]:
    """Return how many endings were tried, met the goals, and passed the task's checks."""
    sim, found, space = (
        simulation(plan, scene, seed),
        Counter[str](),
        {"kit": kit, "math": math, "np": np},
    )
    named = {name: text for name, text in check_functions(plan.goals).items() if name not in GENERAL_CHECKS}
    exec("\n".join(named.values()), space)
    checks = {name: space[name] for name in named if name != "check_steps_are_done_in_order"}
    goals = lasting([goals for _, goals in sim.stages])
    for words, run in displaced_runs(sim):
        met, passed = all(goal.met(run.state_at_end) for goal in goals), passes(run, sim, checks)
        found += Counter(tried=1, goals_met=int(met), checks_passed=int(passed))
        if met or passed:
            print(f"  {plan.instruction} seed {seed}: {words}: goals met {met}, checks pass {passed}")
    found["solved"] += sim.rollout().solved
    return found


def main() -> int:
    """Print a line for the sample tasks and one for the drawn layouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--drawn", type=int, default=200)
    arguments = parser.parse_args()
    sys.modules["kit"] = kit  # as programs import it
    pairs = [
        (plan, scene) for folder in arguments.projects for scene in [kit.Scene.load(folder)] for plan in tasks_of(scene)
    ]
    drawn = np.random.default_rng(0).integers(0, len(pairs), arguments.drawn)
    for title, chosen in (
        ("proposed", [(*pair, 0) for pair in pairs]),
        ("drawn", [(*pairs[k], number + 1) for number, k in enumerate(drawn)]),
    ):
        total = Counter[str]()
        for plan, scene, seed in chosen:
            try:
                total += measured(plan, scene, seed) + Counter(layouts=1)
            except kit.KitError as error:
                print(f"  {plan.instruction}: {error}")
        print(f"{title}: {dict(total)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
