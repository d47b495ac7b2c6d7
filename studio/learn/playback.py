"""Episodes on the Learn page: recorded ones of policies, and the oracle's in the same subtask on the same layout."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import mujoco

from pipeline.learning.judging.rollouts import RecordedEpisode, read_rollouts, rollout_of
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import FOLDER
from pipeline.learning.subtask import WHOLE, Subtask, whole_task
from pipeline.object_words import ObjectWords
from pipeline.project import Project
from pipeline.scene.mjcf.background import load_model
from pipeline.simulation.physics import UnstableError
from pipeline.solving import save_model
from studio.learn.learn_record import folder_of
from studio.learn.reward_words import term_words
from studio.sessions.project_learner import INSTALL, is_installed
from studio.web.errors import RequestError


def recorded(project: Project, subtasks: Sequence[Subtask], name: str, steps: Any, layout: Any) -> RecordedEpisode:
    """Return the recorded episode of a subtask on a layout. `steps` None is the evaluation. Raises RequestError."""
    folder = folder_of(project.folder, subtasks, name)
    if folder is None:
        raise RequestError("There is no such subtask any more; choose another.")
    rollouts = read_rollouts(folder.evaluation_rollouts if steps is None else folder.rollouts(int(steps)))
    found = next((one for one in rollouts if layout is None or one.layout == layout), None)
    if found is None or not _world(project).is_file():
        raise RequestError("This episode was not recorded; evaluate the policies, then play it again.")
    return found


def world_model(project: Project) -> mujoco.MjModel:
    """Return the model in which episodes were recorded. Raises ValueError."""
    path = save_model(_world(project).read_text(encoding="utf-8"), project.folder, "learned")
    return load_model(path)


def measured(rollout: RecordedEpisode, subtask: Subtask | None, words: ObjectWords) -> dict[str, Any]:
    """Return what is shown of an episode: its result, and the terms of the subtask over time."""
    terms = [term_words(one.term, words) for one in subtask.reward] if subtask else []
    plotted = rollout.potentials.T if subtask and rollout.potentials.shape[1] == len(terms) else ()
    return {
        "layout": rollout.layout,
        "success": rollout.success,
        "reward": round(rollout.reward, 2),
        "times": rollout.times.round(2).tolist(),
        "failed_at": rollout.failure.time if rollout.failure else None,
        "terms": [
            {"text": text, "values": values.round(3).tolist()} for text, values in zip(terms, plotted, strict=False)
        ],
        "misses": rollout.misses.sum(axis=1).round(4).tolist(),
    }


class OraclePlayback:
    """The oracle's episodes on the layouts that were asked for last. May be used from any thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple, tuple[RecordedEpisode, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def rollout(self, layouts: Layouts, subtasks: Sequence[Subtask], name: str, layout: int) -> RecordedEpisode:
        """Return the oracle's episode of a subtask on a layout. Raises RequestError where its path ends before it."""
        if not is_installed():
            raise RequestError(f"The oracle is measured as policies are, which needs extra packages: {INSTALL}")
        chosen = list(subtasks)
        if name == WHOLE:
            chosen = [whole_task(subtasks, [goal for _, goals in layouts.base.stages for goal in goals])]
        key = id(layouts), repr(chosen), layout
        with self._lock:  # also so that a second click waits for the first instead of simulating it again
            if key not in self._kept:
                self._kept[key] = _play(layouts, chosen, len(subtasks) if name == WHOLE else 1, layout)
            self._kept.move_to_end(key)
            # Layouts whose oracle episodes are kept; the oracle takes a second or two on each
            while len(self._kept) > 32:
                self._kept.popitem(last=False)
            rollouts = self._kept[key]
        number = next(i for i, one in enumerate(chosen) if one.name == name)
        if number >= len(rollouts):
            stuck = chosen[len(rollouts) - 1].name
            raise RequestError(
                f"On this layout the oracle moves otherwise: its path does not solve {stuck}, which comes before. "
                "Play that subtask."
            )
        return rollouts[number]


def _play(layouts: Layouts, subtasks: Sequence[Subtask], length: int, seed: int) -> tuple[RecordedEpisode, ...]:
    """Return the oracle's episodes of subtasks, each at most `length` times as long as usual."""
    from pipeline.learning.demonstrations import oracle_episodes
    from pipeline.learning.environment import EpisodeRules
    from pipeline.learning.subtask_world import SubtaskWorld

    (layout,) = layouts.get([seed])
    try:
        start = SubtaskWorld(layouts, subtasks[0]).settled(layout)
        episodes = list(oracle_episodes(layouts, subtasks, start, EpisodeRules(steps=EpisodeRules().steps * length)))
    except UnstableError as error:
        raise RequestError(f"The oracle cannot be played on this layout: {error}") from None
    return tuple(rollout_of(subtask, one) for subtask, one in zip(subtasks, episodes, strict=False))


def _world(project: Project) -> Any:
    return project.folder / FOLDER / "world.xml"
