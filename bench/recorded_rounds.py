"""What a capable model's recorded answers cost in characters, and what today's judge says of its rejected rounds.

`python -m bench.recorded_rounds` reads `../shared/recorded`: the questions of six traces, and the rounds of four tasks
that are kept as text. Their twins are not kept; simple shapes of the same sizes stand at the same places.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from math import cos, radians, sin
from pathlib import Path
from typing import Any

from pipeline.models.prompt_templates import load_prompt
from pipeline.models.trace.recorder import read_trace
from pipeline.router.failure_summary import failed_checks, report_for_model
from pipeline.router.judging import judge
from pipeline.router.round import first_failure
from pipeline.router.route import kit_manual, scene_for_program
from pipeline.simulation import CheckResult, Program, Report, kit
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.store import write_json, write_text
from pipeline.tasks import question_task, task_from_json

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "recorded"
TRACES = ("kitchen", "workshop", "stack", "m2t2_00", "posecnn_0", "uoc_0")
REJECTED_THOUGH_RIGHT = (("discard_bottles", 0), ("discard_bottles", 1), ("circle", 1))
REPAIRS = ("repair_simulation", "repair_checks")
MARGIN_M = 0.3
"""How far the table reaches beyond the objects."""


def twin_of(objects: list[dict[str, Any]], folder: Path) -> Path:
    """Write a project's scene with a box, a cylinder or a bowl for each object; return the folder."""
    placements, bodies = [], []
    for number, one in enumerate(objects, 1):
        size, pose, bowl = one["size"], one["world_from_object"], "bowl" in one["name"]
        shape = "bowl" if bowl else "cylinder" if abs(size[0] - size[1]) < 0.002 else "box"
        placements.append(
            {key: one[key] for key in ("name", "asset_id", "size", "world_from_object")}
            | {"segment_id": number, "scale": 1.0, "mass": 0.2, "friction": 0.8, "fixed": False, "category": shape}
            | {"shape": shape, "colour": "white", "rgb": (230, 230, 230), "container": bowl, "collision": []}
            | {"mesh": f"scene/{one['name']}.obj"}
        )
        pos, quat = (" ".join(map(str, pose[key])) for key in ("pos", "quat_wxyz"))
        half = [extent / 2 for extent in size]
        if bowl:
            geoms = f'<geom type="cylinder" size="{half[0] * 0.8} 0.003" pos="0 0 {0.003 - half[2]}" mass="0.1"/>'
            geoms += "".join(_wall(half, turn) for turn in range(0, 360, 30))
        else:
            extents = half if shape == "box" else (half[0], half[2])
            geoms = f'<geom type="{shape}" size="{" ".join(map(str, extents))}" mass="0.2" friction="0.8"/>'
        bodies.append(f'<body name="{one["name"]}" pos="{pos}" quat="{quat}"><freejoint/>{geoms}</body>')
    xs, ys = zip(*(one["world_from_object"]["pos"][:2] for one in objects), strict=True)
    (x0, x1), (y0, y1) = ((min(values) - MARGIN_M, max(values) + MARGIN_M) for values in (xs, ys))
    camera = [[1, 0, 0, 0], [0, -0.6, 0.8, -0.6], [0, -0.8, -0.6, 0.5], [0, 0, 0, 1.0]]
    scene = {"world_from_camera": camera, "table": [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]}
    write_json(folder / "scene.json", scene | {"table_rgb": [150, 128, 102], "placements": placements})
    text = '<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody><geom name="table" type="box" '
    text += f'size="2 2 0.02" pos="0 0 -0.02"/>{"".join(bodies)}</worldbody></mujoco>'
    write_text(folder / "scene" / "scene.xml", text)
    write_json(folder / "descriptions.json", [])
    return folder


def _wall(half: list[float], degrees: int) -> str:
    """Return the geom of one of a bowl's twelve walls."""
    x, y = ((half[0] - 0.004) * turn(radians(degrees)) for turn in (cos, sin))
    size = f"0.004 {half[0] * 0.27} {half[2]}"
    return f'<geom type="box" pos="{x} {y} 0" euler="0 0 {degrees}" size="{size}" mass="0.01"/>'


def rounds_of(task: Path) -> Iterator[tuple[Program, Report, dict[str, Any]]]:
    """Yield program, report and report.json of each kept round of a task."""
    for folder in sorted((task / "rounds").iterdir()):
        kept = json.loads((folder / "report.json").read_text("utf-8"))
        program = Program((folder / "simulation.py").read_text("utf-8"), (folder / "checks.py").read_text("utf-8"))
        checks = tuple(CheckResult(one["name"], one["passed"], one["message"]) for one in kept["checks"])
        faults = kept["crash"], kept["timed_out"], kept["violation"]
        yield program, Report(checks, tuple(kept["reward"]), *faults, evidence=kept["evidence"]), kept


def prompt_lengths() -> dict[str, list[int]]:
    """Return the characters of today's questions about what was recorded, by kind."""
    lengths: dict[str, list[int]] = {kind: [] for kind in ("route", "repair", "write_program")}
    for name in TRACES:
        for line in read_trace(RECORDED / name / "trace.jsonl"):
            if line["event"] == "start" and line["name"] == "write_program":
                data = json.loads(line["input.value"])
                data |= {"scene": scene_for_program(data["scene"]), "kit": kit_manual(), "examples": []}
                lengths["write_program"].append(len(load_prompt("write_program").fill(data)))
    for task in sorted((RECORDED / "hard_tasks").iterdir()):
        objects = json.loads((task / "objects.json").read_text("utf-8"))
        data = {"task": question_task(task_from_json(json.loads((task / "task.json").read_text("utf-8"))))}
        rows = [_row(one) for one in objects]
        data |= {"scene": {"objects": rows, "table": {"polygon": [[0.5, 0.4]] * 8}, "right": [1.0, 0.0]}}
        data |= {"kit": kit_manual(), "examples": []}
        lengths["write_program"].append(len(load_prompt("write_program").fill(data)))
        history = []
        for program, report, kept in rounds_of(task):
            failed = first_failure(report)[:160]
            history.append(
                {"round": len(history), "changed": kept["change"], "reward": kept["reward"], "failed": failed}
            )
            data |= {"simulation": program.simulation, "checks": program.checks, "reason": kept["reason"]}
            data |= {"failed_checks": failed_checks(program, report), "report": report_for_model(program, report)}
            if not report.clean:
                lengths["route"].append(len(load_prompt("route").fill(data | {"history": history})))
                lengths["repair"] += [len(load_prompt(kind).fill(data | {"history": history})) for kind in REPAIRS]
    return lengths


def _row(one: dict[str, Any]) -> dict[str, Any]:
    asset = f" [library asset {one['asset_id']}: {one['caption'][:60]}]" if one["asset_id"] else ""
    row = {"name": one["name"], "shape": "cylinder", "colour": "white", "size": one["size"]}
    return row | {"position": one["world_from_object"]["pos"], "caption": f"(mark 1) {one['caption']}{asset}"}


def main() -> int:
    """Print the median lengths, and the verdict on each round that was rejected though it was right."""
    for kind, values in prompt_lengths().items():
        print(f"{kind:16}{len(values):4} prompts, median {statistics.median(values):7.0f} characters")
    with Sandbox() as sandbox, tempfile.TemporaryDirectory(prefix="grs-") as scratch:
        for name, number in REJECTED_THOUGH_RIGHT:
            task = RECORDED / "hard_tasks" / name
            project = twin_of(json.loads((task / "objects.json").read_text("utf-8")), Path(scratch) / name)
            program, then, _ = list(rounds_of(task))[number]
            asked = task_from_json(json.loads((task / "task.json").read_text("utf-8")))
            now = judge(program, asked, kit.Scene.load(project), project, sandbox)
            verdict = "accepted" if now.clean else first_failure(now)
            print(f"{name} {number}: was {first_failure(then)[:90]!r}, is {verdict!r}, reward {now.reward}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
