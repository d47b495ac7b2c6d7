"""Variants of the twin: masses, frictions, sizes and poses drawn from the kept ranges, as `grs-studio vary` draws them.

Each has a compiled world and layouts of its own, because sizes are compiled in. Names and goals stay the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.learning_files import FOLDER
from pipeline.learning.subtask import Subtask
from pipeline.simulation.kit import Scene
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.variation import VariationStudy, condition_id

MAX_VARIANTS = 20
"""Variants at most; each takes about 100 MB while it is trained on."""
TRAINED, UNSEEN = 0, 1
"""Seeds of the conditions that are trained on, and of those that success is measured on."""


@dataclass(frozen=True, eq=False)
class Variant:
    """The layouts of one variant, and its own form of the subtasks."""

    layouts: Layouts
    subtasks: tuple[Subtask, ...]


@dataclass(frozen=True)
class VariantMaker:
    """Makes variants of a project's twin; learning/variants/<id>/ holds the start of each."""

    project_dir: Path
    program: Program
    sandbox: ProgramRunner
    names: tuple[str, ...]
    """Objects that vary; all that can be moved if empty."""

    def make(self, base: Layouts, subtasks: Sequence[Subtask], seed: int, count: int) -> tuple[Variant, ...]:
        """Return the first variants of a seed. Raises LearningError, SceneError, StoreError, VariationError."""
        if not count:
            return ()
        study = VariationStudy(self.project_dir, self.names, None, seed, count)
        found = []
        for number in range(count):
            folder = self.project_dir / FOLDER / "variants" / condition_id(seed, number)
            study.write(condition_id(seed, number), folder)
            layouts = Layouts(Scene.load(folder), arranged_by(self.program, folder, self.sandbox))
            goals = dict(zip(base.base.goals, layouts.base.goals, strict=True))
            found.append(Variant(layouts, tuple(one.bound_to(goals) for one in subtasks)))
        return tuple(found)
