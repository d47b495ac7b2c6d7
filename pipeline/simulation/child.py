"""What happens inside the sandbox's confined children.

There are two kinds. One *arranges*: generated code builds the simulation of every seed, and what it did is told as data
(recipe.py). The other *performs*: from that data alone it makes the simulation again and lets the oracle act, and
only when that is told, past recall, does the checks' code run in it. No reward is ever told by a process in which
generated code has run.

A child answers in JSON lines, as things happen, so that one stopped half-way still says how far it came:
`{"doing": sentence}`, `{"recipe": {...}}` per seed, `{"reward": r}`, `{"evidence": {...}}` and `{"record": {...}}` of a
rollout, `{"check": {...}}` per check, `{"crash": text}`, `{"refused": text}`, `{"broken": text}` (our own fault), and
`{"finished": true}`.
"""

import base64
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.simulation import alteration, kit
from pipeline.simulation.confine import confine
from pipeline.simulation.inside import Inside, Refused, place
from pipeline.simulation.oracle import FloatingGripper
from pipeline.simulation.recipe import Recipe, follow, recipe, told
from pipeline.simulation.robot import Robot
from pipeline.simulation.rollout import Run
from pipeline.simulation.world import equip

Say = Callable[..., None]
EDGE = 0.03
"""Metres by which a zone or a container may reach over the table's edge, as far as the photograph shows it."""


def answer(job: dict, out: BinaryIO) -> None:
    """Does the job's part, "arrange" or "perform", and says what came of it on `out`."""
    doing = "starting"

    def say(**line) -> None:
        nonlocal doing
        doing = line.get("doing", doing)
        out.write(json.dumps(_plain(line), allow_nan=False).encode() + b"\n")
        out.flush()

    project = Path(job["project"])
    readable = [project / "scene", project / "scene.json", project / "descriptions.json"]
    robot = _robot(job.get("robot", "gripper"))
    try:
        confine(readable, job["seconds"], job["memory_mb"])
    except Exception as error:  # never run a program less confined than we say
        return say(broken=f"The sandbox cannot confine its child ({type(error).__name__}: {error}); nothing was run.")
    inside = Inside(readable, refused=lambda text: say(refused=text))
    try:
        if job["part"] == "arrange":
            _arrange(job, project, inside, say)
        else:
            _perform(job, project, inside, say, robot)
    except Refused as refusal:
        say(refused=str(refusal))
    except MemoryError:
        say(refused=f"the program used more than {job['memory_mb']} MB of memory")
    except BaseException as error:
        say(crash=place(error, "checks.py" if "checks.py" in doing else "simulation.py"))
    if inside.printed:
        say(evidence={"printed": inside.printed})
    say(finished=True)


def _arrange(job: dict, project: Path, inside: Inside, say: Say) -> None:
    """Generated code builds the simulation of each seed; what it did is told as data."""
    say(doing="reading simulation.py")
    build = inside.read("simulation.py", job["simulation"]).get("build")
    if not callable(build):
        raise SyntaxError("simulation.py defines no build(scene, seed)")
    for seed in job["seeds"]:
        say(doing=f"building the simulation, seed {seed}")
        np.random.seed(seed)
        sim = build(kit.Scene.load(project), seed)
        if type(sim) is not kit.Simulation:
            raise kit.KitError(f"build returned {type(sim).__name__}; return the kit.Simulation it made")
        inside.untouched(sim)
        if not sim.stages:
            raise kit.KitError("there is nothing to do yet: call sim.goal(...) in build(scene, seed)")
        say(recipe=recipe(sim).model_dump())


def _robot(name: str) -> Robot:
    """Who acts, imported while a process may still open what it likes."""
    if name == "arm":
        from pipeline.simulation.arm.robot import Arm

        return Arm()
    return FloatingGripper()


def _perform(job: dict, project: Path, inside: Inside, say: Say, robot: Robot) -> None:
    """The oracle acts on what was arranged; then, where there are checks, they look at it."""
    say(doing=f"rolling out the oracle, seed {job['seed']}")
    said = Recipe.model_validate(job["recipe"])
    sim = kit.Simulation(kit.Scene.load(project), said.seed)
    follow(sim, said)
    equip(sim, robot)
    if job["alteration"]:
        changed = alteration.perform(sim, job["alteration"])
        say(evidence={"altered": changed})
        if not changed["applies"]:
            return
    else:
        run = sim.rollout()
        say(reward=run.reward)
        _say_run(say, sim, run)
    if job["checks"] is not None:
        say(doing="reading checks.py")
        names = inside.read("checks.py", job["checks"])
        for name, check in list(names.items()):
            if name.startswith("check_") and callable(check):
                say(doing=f"running {name}")
                result = _check(name, check, sim, inside, say)
                say(check=result)
                inside.untouched(sim)
                if job["alteration"] and not result["passed"]:
                    return


def _check(name: str, check: Callable, sim: kit.Simulation, inside: Inside, say: Say) -> dict:
    """One check's result. An assertion that fails is a finding; any other error is also a crash of checks.py."""
    began = time.monotonic()
    result: dict[str, Any] = {"name": name, "passed": False, "message": "", "instant": None, "line": None}
    try:
        told = check(sim)
        result["passed"] = True
        if isinstance(told, (int, float)) and not isinstance(told, bool):
            result["instant"] = float(told)
    except AssertionError as error:
        # `assert ok, ("what is wrong", 2.4)` tells the simulated instant beside the message.
        message = error.args[0] if error.args else ""
        if isinstance(message, tuple) and len(message) == 2:
            message, result["instant"] = message[0], float(message[1])
        result["line"] = inside.line(error, "checks.py")
        result["message"] = str(message)[:500] or f"does not hold: {inside.source('checks.py', result['line'])}"
    except (MemoryError, Refused):
        raise
    except BaseException as error:
        result["line"] = inside.line(error, "checks.py")
        result["message"] = place(error, "checks.py")
        say(crash=result["message"])
    return result | {"seconds": time.monotonic() - began}


def _say_run(say: Say, sim: kit.Simulation, run: Run) -> None:
    """Evidence and the record of a rollout."""
    try:
        say(evidence=_evidence(sim, run))
        say(record=_record(run))
    except Exception as error:
        say(broken=f"the rollout cannot be told: {type(error).__name__}: {error}")


def _evidence(sim: kit.Simulation, run: Run) -> dict:
    picked = {name for _, name in run.grasps}
    return {
        "why": run.why,
        "at_rest": run.at_rest,
        "goals": list(run.goals),
        "asked": asked(sim),
        "reward_at_start": sim.reward_at_start(),
        "events": [_event(event) for event in run.events],
        "grasps": [list(grasp) for grasp in run.grasps],
        "moved_before_touch": run.moved_before_touch,
        "objects": {thing.name: _fate(run, thing.name, thing.name in picked) for thing in sim.objects},
        "contacts": sorted(sorted(pair) for pair in run.state_at_end.touching if "table" not in pair),
        "off_table": _off_table(sim),
        "simulated_seconds": run.times[-1],
    }


def asked(sim: kit.Simulation) -> dict:
    """The goals as data, rows in the order that their key gives, and where the zones lie."""
    goals = [told(goal) for _, goals in sim.stages for goal in goals]
    return {"goals": goals, "zones": {name: zone.xy for name, zone in sim.zones.items()}}


def _off_table(sim: kit.Simulation) -> list[str]:
    """Zones and containers that were set out beyond the table's edge."""
    table, made = sim.scene.table, {thing.name for thing in sim.objects} - {o.name for o in sim.scene.objects}
    outlines = {name: zone.region.polygon for name, zone in sim.zones.items()}
    outlines |= {name: sim[name].outline for name in made if sim[name].fixed}
    return [name for name, outline in outlines.items() if table.depth(outline).min() < -EDGE]


def _fate(run: Run, name: str, picked: bool) -> dict:
    """Where an object was and is; how far it was turned and, never picked up, pushed."""
    start, end = run.start(name), run.end(name)
    told = {"start": start.position, "end": end.position, "top": end.top}
    upright = float(np.clip(start.rotation[:, 2] @ end.rotation[:, 2], -1, 1))
    return told | {"turned": float(np.arccos(upright)), "pushed": 0.0 if picked else run.moved(name)}


def _event(event) -> dict:
    return {key: getattr(event, key) for key in ("time", "verb", "object", "target", "ok", "message")}


def _record(run: Run) -> dict:
    return {
        "times": _array(run.times),
        "qpos": _array(run.qpos),
        "actions": _array(run.actions),
        "reward": run.reward,
        "xml": run.xml,
        "events": [_event(event) for event in run.events],
        "goals": list(run.goals),
    }


def _array(values) -> dict:
    values = np.ascontiguousarray(values, "<f8")
    return {"shape": list(values.shape), "data": base64.b64encode(values.tobytes()).decode()}


def _plain(value: Any) -> Any:
    """JSON of numpy's numbers and arrays; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
