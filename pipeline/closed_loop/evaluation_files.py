"""Files of an evaluation, as they are read while it may still run. Needs no gymnasium.

conditions.json (the task's digest, policies and conditions of the newest run), outcomes.jsonl (one episode a line,
appended as each ends), episodes/POLICY/CONDITION.npz and rollouts/POLICY/CONDITION.npz, evaluation.json, report.html.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from pipeline.closed_loop.policy import PolicyError
from pipeline.errors import reason_of
from pipeline.project import Project, safe_name
from pipeline.simulation.program import Program
from pipeline.simulation.robots import robot_kind
from pipeline.store import parse_json

CONDITIONS, OUTCOMES, SUMMARY, REPORT, ENVIRONMENT = (
    "conditions.json", "outcomes.jsonl", "evaluation.json", "report.html", "environment",
)  # fmt: skip
SECONDS = 30.0
"""Simulated, of an episode at most, where nobody says otherwise."""


@dataclass(frozen=True)
class KeptConditions:
    """The contents of conditions.json."""

    task: str
    """Digest of what the conditions are of."""
    policies: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    """"id" and "values" of each condition."""


class OutcomeRow(BaseModel):
    """A line of outcomes.jsonl: the policy, and what is kept of its `PolicyEpisode`."""

    policy: str
    condition: str
    success: bool
    share: float
    seconds: float
    failure: str | None = None
    reason: str = ""
    rmse: float | None = None
    answers: dict[str, Any] | None = None


def read_conditions(out: Path) -> KeptConditions | None:
    """Return the conditions of the newest run; None without one. Raises PolicyError."""
    path = out / CONDITIONS
    try:
        data = parse_json(path.read_bytes())
        rows = tuple({"id": str(row["id"]), "values": dict(row["values"])} for row in data["conditions"])
        return KeptConditions(str(data["task"]), tuple(map(str, data.get("policies", ()))), rows)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PolicyError(f"{path} cannot be read ({reason_of(error)}); choose another --out folder") from None


def read_outcomes(out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the row of each episode by policy and condition, without an unfinished last line. Raises PolicyError."""
    path = out / OUTCOMES
    try:
        *lines, _ = path.read_bytes().split(b"\n") if path.is_file() else [b""]
        rows = TypeAdapter(list[OutcomeRow]).validate_python([parse_json(line) for line in lines if line])
        return {(row.policy, row.condition): row.model_dump() for row in rows}
    except (OSError, ValueError) as error:
        raise PolicyError(f"{path} cannot be read ({reason_of(error)}); choose another --out folder") from None


def policy_folder(policy: str) -> str:
    """Return the name of the folder of a policy's episodes: "demonstration", or a name with a digest of an address."""
    plain = safe_name(policy)
    return plain if plain == policy else f"{plain}_{hashlib.sha256(policy.encode()).hexdigest()[:6]}"


def episode_path(out: Path, kind: str, policy: str, condition: str) -> Path:
    """Return the file of an episode; `kind` is "episodes", or "rollouts" for what the viewer plays."""
    return out / kind / policy_folder(policy) / f"{condition}.npz"


def task_digest(project: Project, program: Program, robot: str, seconds: float = SECONDS) -> str:
    """Return a digest of what drawn conditions are of: the twin, the task's program, the robot and the time."""
    text = f"{program.simulation}{robot_kind(robot).name}{seconds}"
    return file_digest(project.folder / "scene.json", text=text)


def file_digest(*files: Path, text: str = "") -> str:
    """Return a digest of a text and of files."""
    found = hashlib.sha256(text.encode())
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()
