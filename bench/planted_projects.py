"""Project folders with the files that the board's index reads, and no results behind them."""

import json
import os
from pathlib import Path

import cv2
import numpy as np

from pipeline.project import STAGES
from pipeline.project.confidence_record import save_confidences

NOUNS = [
    "mug",
    "bowl",
    "plate",
    "box",
    "can",
    "bottle",
    "lamp",
    "toy",
    "drill",
    "hammer",
    "book",
    "shoe",
    "pan",
    "tray",
    "cup",
    "kettle",
]
COLOURS = ["red", "blue", "green", "white", "black", "yellow", "wooden", "steel"]
TAGS = ["kitchen", "office", "lab", "wet", "glass", "blurred", "repeat"]


def plant_projects(workspace: Path, count: int) -> None:
    """Make that many project folders in a workspace, all different, equal at every call."""
    rng = np.random.default_rng(0)
    picture = cv2.imencode(".png", rng.integers(0, 255, (30, 40, 3), np.uint8))[1].tobytes()
    for number in range(count):
        plant_project(workspace / f"frame_{number:05}", number, picture, rng)


def plant_project(folder: Path, number: int, picture: bytes, rng: np.random.Generator) -> None:
    """Make one project folder, done up to a stage that the generator draws."""
    (folder / "frame").mkdir(parents=True)
    (folder / "frame" / "rgb.png").write_bytes(picture)
    done, at = int(rng.integers(1, len(STAGES) + 1)), 1.7e9 + number * 60
    states = {stage: "done" if k < done else "todo" for k, stage in enumerate(STAGES)}
    if rng.random() < 0.1 and done < len(STAGES):
        states[STAGES[done]] = "failed"
    write(folder / "project.json", {"schema": 1, "name": folder.name, "stages": states})
    names = [f"{rng.choice(COLOURS)}_{rng.choice(NOUNS)}" for _ in range(int(rng.integers(1, 12)))]
    times = at + np.cumsum(rng.exponential(30, int(rng.integers(0, 30))))
    lines = [{"kind": "rename", "data": {"id": 1, "name": "x"}, "at": float(one), "by": "human"} for one in times]
    (folder / "decisions.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    if done > STAGES.index("matches"):
        write(folder / "matches.json", [{"asset_id": name if rng.random() < 0.8 else None} for name in names])
    if done > STAGES.index("scene"):
        write(folder / "scene.json", {"placements": [{"name": name} for name in names]})
        save_confidences(folder, {id: round(float(score), 3) for id, score in enumerate(rng.random(len(names)))})
        write(folder / "task.json", {"instruction": f"Put the {names[0]} beside the {names[-1]}."})
    if done == len(STAGES):
        solved = bool(rng.random() < 0.7)
        write(folder / "solution.json", {"solved": solved, "source": "oracle, floating gripper"})
        (folder / "rounds.jsonl").write_text(json.dumps({"number": 0, "clean": solved, "source": "rules"}) + "\n")
    if rng.random() < 0.3:
        verdict = str(rng.choice(["accepted", "rejected", "unsure"]))
        tags = sorted(set(rng.choice(TAGS, 2).tolist()))
        reason = "the table is cut off" if verdict == "rejected" else ""
        write(folder / "curation.json", {"schema": 1, "verdict": verdict, "reason": reason, "tags": tags})
    for name in ("project.json", "decisions.jsonl"):
        os.utime(folder / name, (at, at))


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))
