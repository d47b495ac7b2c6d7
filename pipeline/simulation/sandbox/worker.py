"""Jobs of the sandbox's confined children: build the simulations, or roll out the oracle and run the checks.

There are three kinds of jobs. "arrange": generated code builds the simulation of every seed, and its calls are sent as
data (recipe.py). "perform": the simulation is built again from that data only and the oracle acts; when the results
have been sent and cannot be taken back, the code of checks.py runs. "measure": simulations are built from such data
and their starts are measured (photographed.py); no generated code runs. A process in which generated code has run
never sends a reward.

A child sends messages as things happen, so that its progress is known if it is stopped: `{"doing": sentence}`,
`{"recipe": {...}}` per seed, `{"reward": r}`, `{"evidence": {...}}` and `{"record": {...}}`, with arrays, of a rollout,
`{"check": {...}}` per check, `{"crash": text}`, `{"refused": text}` (a violation), `{"broken": text}` (the sandbox
itself failed), and `{"finished": true}`.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.confinement import confine
from pipeline.simulation import kit, mutations
from pipeline.simulation.cameras import FILE as CAMERAS
from pipeline.simulation.free_space import overlapping
from pipeline.simulation.goals.zones import overlap_depth
from pipeline.simulation.mutations import DISPLACED, displaced_runs
from pipeline.simulation.objects import Region
from pipeline.simulation.photographed import start_of
from pipeline.simulation.recipe import Recipe, recipe, replay, to_json
from pipeline.simulation.robots import ORDER, robot_kind
from pipeline.simulation.robots.robot import Robot
from pipeline.simulation.rollout import SOLVED, Run, observed_run
from pipeline.simulation.sandbox.protocol import layout_seconds
from pipeline.simulation.sandbox.restricted_exec import ProgramViolation, RestrictedInterpreter, describe_error
from pipeline.untrusted.messages import write_message

Send = Callable[..., None]

FILE = "task.py"


@dataclass(frozen=True)
class TaskChecks:
    """Functions check_*(sim), run before any code of the program's checks."""

    interpreter: RestrictedInterpreter
    source: str

    def measure(self, sim: Any) -> dict[str, str]:
        """Return each check's message by name, empty where it passes.

        Those that cannot be run are left out: a program may name its zones and containers as it likes.
        """
        found: dict[str, str] = {}
        names = self.interpreter.execute(FILE, self.source) if self.source else {}
        for name, check in names.items():
            if name.startswith("check_") and callable(check):
                try:
                    check(sim)
                    found[name] = ""
                except AssertionError as error:
                    found[name] = str(error)[:500] or "does not hold"
                except Exception:
                    continue
        return found

    def wrong_runs(self, sim: Any) -> list[tuple[str, Run]]:
        """Return the displaced runs that the task's checks refuse; all of them where there are no such checks."""
        original, refused = sim.rollout(), []
        for outcome, run in displaced_runs(sim):
            sim._run = run  # sim.rollout() returns what has been rolled out already
            measured = self.measure(sim)
            if not measured or any(measured.values()):
                refused.append((outcome, run))
        sim._run = original
        return refused


def prepare() -> None:
    """Import what most jobs need, once for all children."""
    robot_kind(ORDER[0]).make(True)


def run_job(job: dict, out: BinaryIO) -> None:
    """Run a job, "arrange" or "perform", and send its messages on `out`."""
    doing = "starting"

    def send(arrays: Sequence[np.ndarray] = (), **message: Any) -> None:
        nonlocal doing
        doing = message.get("doing", doing)
        write_message(out, _to_json(message), arrays)

    project = Path(job["project"])
    folder = job.get("robot_folder", "")
    readable = [project / name for name in ("scene", "scene.json", "descriptions.json", CAMERAS)]
    readable += [Path(folder)] if folder else []
    moves = not job.get("dry_run", False)
    kind = robot_kind(job.get("robot", ORDER[0]), folder)
    robot = kind.make(moves)  # before the process is confined: it imports modules
    try:
        confine(readable, seconds=job["seconds"], memory_mb=job["memory_mb"])
    except Exception as error:  # never run a program with less confinement than reported
        reason = f"{type(error).__name__}: {error}"
        return send(broken=f"The sandbox cannot confine its child process ({reason}); nothing was run.")
    interpreter = RestrictedInterpreter(readable, report=lambda text: send(refused=text))
    try:
        if job["part"] == "arrange":
            _arrange(job, project, interpreter, send, robot)
        elif job["part"] == "measure":
            send(evidence={"starts": [_start(project, Recipe.model_validate(one), robot) for one in job["recipes"]]})
        else:
            _perform(job, project, interpreter, send, robot)
    except ProgramViolation as violation:
        send(refused=str(violation))
    except MemoryError:
        send(refused=f"the program used more than {job['memory_mb']} MB of memory")
    except BaseException as error:
        send(crash=describe_error(error, "checks.py" if "checks.py" in doing else "simulation.py"))
    if interpreter.printed:
        send(evidence={"printed": interpreter.printed})
    send(finished=True)


def _arrange(job: dict, project: Path, interpreter: RestrictedInterpreter, send: Send, robot: Robot) -> None:
    """Let generated code build the simulation of each seed, and send its calls as data."""
    send(doing="reading simulation.py")
    build = interpreter.execute("simulation.py", job["simulation"]).get("build")
    if not callable(build):
        raise SyntaxError("simulation.py defines no build(scene, seed)")
    for seed in job["seeds"]:
        send(doing=f"building the simulation, seed {seed}")
        np.random.seed(seed)
        sim = build(replace(kit.Scene.load(project), robot=robot), seed)
        if type(sim) is not kit.Simulation:
            raise kit.KitError(f"build returned {type(sim).__name__}; return the kit.Simulation it made")
        interpreter.require_unmodified(sim)
        if not sim.stages:
            raise kit.KitError("there is no goal: call sim.goal(...) in build(scene, seed)")
        send(recipe=recipe(sim).model_dump())


def _perform(job: dict, project: Path, interpreter: RestrictedInterpreter, send: Send, robot: Robot) -> None:
    """Roll out the oracle on the arranged simulation, then run the checks, if any."""
    send(doing=f"rolling out the oracle, seed {job['seed']}")
    sim = _built(project, Recipe.model_validate(job["recipe"]), robot)
    named = sum(len(goal.objects) for _, goals in sim.stages for goal in goals)
    _limit_processor(layout_seconds(job["physics_seconds"], len(sim.objects), named))
    task_checks = TaskChecks(interpreter, job.get("reference", ""))
    if job["mutation"] == DISPLACED:
        return _check_displaced(job, sim, interpreter, task_checks, send)
    if job.get("observed"):
        times, qpos = (np.array(job["observed"][name], float) for name in ("times", "qpos"))
        sim._run = observed_run(sim.bench(), sim.stages, times, qpos, job["observed"]["grasps"])
    elif job["mutation"]:
        mutated = mutations.roll_out_mutated(sim, job["mutation"])
        send(evidence={"mutation": mutated})
        if not mutated["applies"]:
            return
    else:
        run = sim.rollout()
        send(reward=run.reward)
        _send_run(send, sim, run, job.get("progress", False))
        if run.solved and (measured := task_checks.measure(sim)):
            send(evidence={"measured": measured})
    if job["checks"] is not None and (job["always"] or _shows_a_solution(sim)):
        send(doing="reading checks.py")
        _limit_processor(job["check_seconds"], for_good=True)
        names = interpreter.execute("checks.py", job["checks"])
        for name, check in list(names.items()):
            if name.startswith("check_") and callable(check):
                send(doing=f"running {name}")
                result = _check(name, check, sim, interpreter, send)
                send(check=result)
                interpreter.require_unmodified(sim)
                if job["mutation"] and not result["passed"]:
                    return


def _built(project: Path, arranged: Recipe, robot: Robot) -> kit.Simulation:
    """Return the simulation of a recipe."""
    sim = kit.Simulation(replace(kit.Scene.load(project), robot=robot), arranged.seed)
    replay(sim, arranged)
    return sim


def _limit_processor(seconds: float, for_good: bool = False) -> None:
    """Let the kernel end this process after so many more seconds of processor time; `for_good`: nothing can undo it."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]  # confine() has set it
    limit = min(math.ceil(time.process_time() + seconds), hard)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, min(limit + 1, hard) if for_good else hard))


def _start(project: Path, arranged: Recipe, robot: Robot) -> dict[str, Any]:
    """Return how a recipe starts; with the reason alone where the kit refuses it."""
    try:
        return start_of(_built(project, arranged, robot))
    except kit.KitError as error:
        return {"refused": str(error)}


def _shows_a_solution(sim: kit.Simulation) -> bool:
    """Whether the goals were reached in this layout and not met at the start already."""
    return sim.rollout().solved and sim.reward_at_start() <= SOLVED


def _check_displaced(
    job: dict, sim: kit.Simulation, interpreter: RestrictedInterpreter, task_checks: TaskChecks, send: Send
) -> None:
    """Run the checks on runs that end wrongly, and send one that fails; or one that passes, with what none noticed."""
    runs = task_checks.wrong_runs(sim)
    send(evidence={"mutation": {"kind": DISPLACED, "outcome": "", "applies": bool(runs)}})
    if not runs:
        return
    send(doing="reading checks.py")
    _limit_processor(job["check_seconds"], for_good=True)
    names = interpreter.execute("checks.py", job["checks"] or "")
    checks = {name: check for name, check in names.items() if name.startswith("check_") and callable(check)}
    noticed: dict[str, Any] = {}
    for outcome, run in runs:
        sim._run = run
        results = (_check(name, check, sim, interpreter, lambda **_: None) for name, check in checks.items())
        noticed = next((result for result in results if not result["passed"]), {})
        interpreter.require_unmodified(sim)
        if not noticed:
            silent = {"name": DISPLACED, "passed": True, "instant": None, "line": None, "seconds": 0.0}
            return send(check=silent | {"message": outcome})
    send(check=noticed)


def _check(name: str, check: Callable, sim: kit.Simulation, interpreter: RestrictedInterpreter, send: Send) -> dict:
    """Run one check and return its result. Any error other than a failed assertion is also a crash of checks.py."""
    start = time.monotonic()
    result: dict[str, Any] = {"name": name, "passed": False, "message": "", "instant": None, "line": None}
    try:
        instant = check(sim)
        result["passed"] = True
        if isinstance(instant, (int, float)) and not isinstance(instant, bool):
            result["instant"] = float(instant)
    except AssertionError as error:
        # `assert ok, ("what is wrong", 2.4)` gives the simulated time of the failure.
        message = error.args[0] if error.args else ""
        if isinstance(message, tuple) and len(message) == 2:
            message, result["instant"] = message[0], float(message[1])
        result["line"] = interpreter.failing_line(error, "checks.py")
        result["message"] = str(message)[:500] or f"does not hold: {interpreter.line_text('checks.py', result['line'])}"
    except (MemoryError, ProgramViolation):
        raise
    except BaseException as error:
        result["line"] = interpreter.failing_line(error, "checks.py")
        result["message"] = describe_error(error, "checks.py")
        send(crash=result["message"])
    return result | {"seconds": time.monotonic() - start}


def _send_run(send: Send, sim: kit.Simulation, run: Run, progress: bool) -> None:
    """Send the evidence and the record of a rollout, with the goals over time if `progress`."""
    try:
        send(evidence=_evidence(sim, run))
        send(_arrays(run, progress), record=_record(run, progress))
    except Exception as error:
        send(broken=f"the rollout cannot be serialised: {type(error).__name__}: {error}")


def _evidence(sim: kit.Simulation, run: Run) -> dict:
    picked = {name for _, name in run.grasps}
    return {
        "why": run.why,
        "at_rest": run.at_rest,
        "goals": list(run.goals),
        "asked": requested_goals(sim),
        "reward_at_start": sim.reward_at_start(),
        "events": [_event(event) for event in run.events],
        "grasps": [list(grasp) for grasp in run.grasps],
        "moved_before_touch": run.moved_before_touch,
        "objects": {o.name: _motion(run, o.name, o.name in picked) for o in sim.objects},
        "contacts": sorted(sorted(pair) for pair in run.state_at_end.touching if "table" not in pair),
        "overlaps": [[a.name, b.name] for a, b in overlapping(run.state_at_start.objects.values())],
        "off_table": _off_table(sim),
        "simulated_seconds": run.times[-1],
    }


def requested_goals(sim: kit.Simulation) -> dict:
    """Return the goals as JSON and the centres of the zones."""
    goals = [to_json(goal) for _, goals in sim.stages for goal in goals]
    return {"goals": goals, "zones": {name: zone.xy for name, zone in sim.zones.items()}}


def _off_table(sim: kit.Simulation) -> list[str]:
    """Return the names of zones and containers that extend beyond the table's edge.

    A container may stand outside the walls of a bin.
    """
    table, added = sim.scene.table, {o.name for o in sim.objects} - {o.name for o in sim.scene.objects}
    outlines = {name: zone.region.polygon for name, zone in sim.zones.items()}
    boxes = {name: sim[name].outline for name in added if sim[name].fixed}
    walls = bool(sim.scene.walls)
    outlines |= {n: box for n, box in boxes.items() if not walls or overlap_depth(Region(box), sim.scene.footprint) > 0}
    # How far a zone or a container may extend beyond the visible edge of the table
    return [name for name, outline in outlines.items() if table.depth(outline).min() < -0.03]


def _motion(run: Run, name: str, picked: bool) -> dict:
    """Return an object's start and end, its tilt from upright in radians and, if never picked up, how far it moved."""
    start, end = run.start(name), run.end(name)
    ends = {"start": start.position, "end": end.position, "top": end.top}
    upright = float(np.clip(start.rotation[:, 2] @ end.rotation[:, 2], -1, 1))
    return ends | {"turned": float(np.arccos(upright)), "pushed": 0.0 if picked else run.moved(name)}


def _event(event) -> dict:
    return {key: getattr(event, key) for key in ("time", "verb", "object", "target", "ok", "message")}


def _record(run: Run, progress: bool) -> dict:
    return {
        "reward": run.reward,
        "xml": run.xml,
        "events": [_event(event) for event in run.events],
        "goals": list(run.goals),
        "contacts": [asdict(contact) for contact in run.progress.contacts] if progress else None,
    }


def _arrays(run: Run, progress: bool) -> list[np.ndarray]:
    """Return the arrays of a record, as protocol.py lists them."""
    arrays = [run.times, run.qpos, run.actions]
    return [np.asarray(array, float) for array in (arrays + [run.progress.times, run.progress.misses] * progress)]


def _to_json(value: Any) -> Any:
    """Return a value with numpy numbers and arrays as JSON values; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [_to_json(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
