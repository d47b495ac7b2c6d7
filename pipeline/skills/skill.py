"""A skill: the policy of a solved subtask, kept with the kinds and sizes of its objects.

A policy fits a subtask that observes objects of other names in the same roles: "pick up object 0, from which the hand
is away". Files: <workspace>/skills/<key>/skill.json and policy.zip, which holds tensors alone.
"""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter

from pipeline.errors import StudioError
from pipeline.learning.layouts import Layouts
from pipeline.learning.policy import PARAMETERS, read_parameters
from pipeline.learning.pushing import is_push
from pipeline.learning.subtask import Subtask
from pipeline.simulation.goals.goal import Goal
from pipeline.store import digest, read_json, write_bytes, write_json

FOLDER = "skills"
"""Folder in a workspace."""
SCHEMA = 1


@dataclass(frozen=True)
class Skill:
    """One kept policy."""

    subtask: str
    """Name of the subtask that it solved."""
    project: str
    """Name of the project's folder."""
    roles: str
    """Hash of its goals with the objects' roles in place of their names."""
    categories: tuple[str, ...]
    """Of its objects, in the order of their roles."""
    sizes: tuple[tuple[float, float, float], ...]
    """Extents of these objects in metres."""
    success: float
    """Share of the unseen layouts that it solved."""
    layouts: int
    steps: int
    """Control steps that it was trained for."""
    policy: Path
    """policy.zip."""

    @property
    def title(self) -> str:
        """What a person calls it."""
        return f"{self.subtask} of {self.project}"


@dataclass(frozen=True)
class SkillObjects:
    """What a subtask needs of a skill."""

    roles: str
    categories: tuple[str, ...]
    sizes: tuple[tuple[float, float, float], ...]

    def distance(self, skill: Skill) -> float:
        """Return how unlike the objects of a skill with the same roles are; 0 for the same kinds and sizes."""
        others = sum(a != b for a, b in zip(self.categories, skill.categories, strict=True))
        sizes = np.abs(np.array(self.sizes) - np.array(skill.sizes)).mean() if self.sizes else 0.0
        # Mean difference of extents that counts as much as an object of another category
        return others + float(sizes) / 0.1


def skill_objects(subtask: Subtask, layouts: Layouts) -> SkillObjects:
    """Return the roles of a subtask, and the objects that have them in its world."""
    objects = [layouts.base.objects[name] for name in subtask.objects if name in layouts.base.objects]
    roles = {one.name: f"object {number}" for number, one in enumerate(objects)}
    parts = {joint: f"part {number}" for number, joint in enumerate(subtask.joints)}

    def of(goal: Goal) -> list[Any]:
        named = [roles.get(name, "") for name in goal.objects]
        return [
            type(goal).__name__,
            named,
            [parts[joint] for joint in goal.joints],
            len(goal.zones),
            goal.fixed_place is not None,
        ]

    found = [len(objects), [of(goal) for goal in subtask.success], [of(goal) for goal in subtask.goals]]
    found += ["push"] if is_push(subtask) else []  # its policy also observes the line of the push
    sizes = tuple((float(x), float(y), float(z)) for x, y, z in (one.size for one in objects))
    return SkillObjects(digest(found), tuple(one.category for one in objects), sizes)


def nearest_skill(needed: SkillObjects, skills: Sequence[Skill]) -> Skill | None:
    """Return the skill of the same roles whose objects are most alike, of equals the one of most success."""
    fitting = [one for one in skills if one.roles == needed.roles and len(one.categories) == len(needed.categories)]
    return min(fitting, key=lambda one: (needed.distance(one), -one.success), default=None)


def keep_skill(skill: Skill, folder: Path) -> Path:
    """Keep a skill, once for each subtask of a project and its roles; return its folder.

    Only the tensors of `skill.policy` are kept. Raises LearningError, StoreError.
    """
    kept = folder / digest(skill.project, skill.subtask, skill.roles)[:16]
    write_bytes(kept / "policy.zip", tensors_alone(skill.policy))
    row = {key: value for key, value in asdict(skill).items() if key != "policy"}
    write_json(kept / "skill.json", {"schema": SCHEMA, **row})
    return kept


def read_skills(folder: Path | None) -> tuple[Skill, ...]:
    """Return the skills of a workspace; those that cannot be read are left out."""
    found = []
    for file in sorted(folder.glob("*/skill.json")) if folder else ():
        try:
            row: dict[str, Any] = dict(read_json(file, SCHEMA) or {})
            del row["schema"]
            found.append(TypeAdapter(Skill).validate_python({**row, "policy": file.parent / "policy.zip"}))
        except (StudioError, TypeError, ValueError, KeyError):
            continue
    return tuple(found)


def tensors_alone(policy: Path) -> bytes:
    """Return a policy.zip with its networks' and its optimizer's tensors, and nothing pickled. Raises LearningError."""
    content = io.BytesIO()
    parameters = read_parameters(policy)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in PARAMETERS.items():
            buffer = io.BytesIO()
            torch.save(parameters[name], buffer)
            archive.writestr(member, buffer.getvalue())
    return content.getvalue()
