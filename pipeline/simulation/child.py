"""What happens inside the sandboxed child: the program is confined, built, rolled out, checked, and told about.

The child answers in JSON lines, as things happen, so that a run stopped half-way still says how far it came:
`{"doing": sentence}`, `{"reward": r}` per seed, `{"check": {...}}` per check, `{"crash": text}`, `{"refused": text}`,
`{"broken": text}` (our own fault), `{"evidence": {...}}` and `{"record": {...}}` of the first seed's rollout, and
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

from pipeline.simulation import kit
from pipeline.simulation.confine import confine
from pipeline.simulation.inside import Inside, Refused, place


def answer(job: dict, out: BinaryIO) -> None:
    """Runs the job's program, and says what came of it on `out`."""

    def say(**line) -> None:
        out.write(json.dumps(_plain(line), allow_nan=False).encode() + b"\n")
        out.flush()

    project = Path(job["project"])
    readable = [project / "scene", project / "scene.json", project / "descriptions.json"]
    try:
        confine(readable, job["seconds"], job["memory_mb"])
    except Exception as error:  # never run a program less confined than we say
        return say(broken=f"The sandbox cannot confine its child ({type(error).__name__}: {error}); nothing was run.")
    inside = Inside(readable, refused=lambda text: say(refused=text))
    doing = "reading the program"
    try:
        doing = "reading simulation.py"
        say(doing=doing)
        build = inside.read("simulation.py", job["simulation"]).get("build")
        if not callable(build):
            raise SyntaxError("simulation.py defines no build(scene, seed)")
        first = None
        for seed in job["seeds"]:
            doing = f"building the simulation, seed {seed}"
            say(doing=doing)
            sim = _build(build, project, seed)
            doing = f"rolling out the oracle, seed {seed}"
            say(doing=doing)
            inside.untouched(sim)
            run = kit.Simulation.rollout(sim)
            say(reward=run.reward)
            first = first or (sim, run)
        if first:
            _say_first(say, *first)
        if first and job["checks_too"]:
            doing = "reading checks.py"
            say(doing=doing)
            names = inside.read("checks.py", job["checks"])
            for name, check in list(names.items()):
                if name.startswith("check_") and callable(check):
                    say(doing=f"running {name}")
                    say(check=_check(name, check, first[0], inside, say))
                    inside.untouched(first[0])
    except Refused as refusal:
        say(refused=str(refusal))
    except MemoryError:
        say(refused=f"the program used more than {job['memory_mb']} MB of memory")
    except BaseException as error:
        side = "checks.py" if "checks.py" in doing else "simulation.py"
        say(crash=place(error, side))
    if inside.printed:
        say(evidence={"printed": inside.printed})
    say(finished=True)


def _build(build: Callable, project: Path, seed: int):
    np.random.seed(seed)
    sim = build(kit.Scene.load(project), seed)
    if type(sim) is not kit.Simulation:
        raise kit.KitError(f"build returned {type(sim).__name__}; return the kit.Simulation it made")
    return sim


def _check(name: str, check: Callable, sim, inside: Inside, say: Callable) -> dict:
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


def _say_first(say: Callable, sim, run) -> None:
    """Evidence and the record of the rollout that the checks look at."""
    try:
        say(evidence=_evidence(sim, run))
        say(record=_record(run))
    except Exception as error:
        say(broken=f"the rollout cannot be told: {type(error).__name__}: {error}")


def _evidence(sim, run) -> dict:
    names = [thing.name for thing in sim.objects]
    return {
        "why": run.why,
        "at_rest": run.at_rest,
        "goals": list(run.goals),
        "reward_at_start": sim.reward_at_start(),
        "events": [_event(event) for event in run.events],
        "grasps": [list(grasp) for grasp in run.grasps],
        "moved_before_touch": run.moved_before_touch,
        "objects": {name: {"start": run.start(name).position, "end": run.end(name).position} for name in names},
        "simulated_seconds": run.times[-1],
    }


def _event(event) -> dict:
    return {key: getattr(event, key) for key in ("time", "verb", "object", "target", "ok", "message")}


def _record(run) -> dict:
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
