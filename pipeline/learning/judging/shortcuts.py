"""Reward shortcuts: policies that are paid without doing the task, each reported with a change that ends it.

Three kinds are looked for, in the episodes of an evaluation. A policy that stops with a term nearly paid in full while
the goal does not move, or that stops because moving costs more than it earns; one that meets the goal and does not let
go; and one that succeeds by pushing other objects away, as a mutation of a program's checks would.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pipeline.learning.episodes import SubtaskEpisode
from pipeline.learning.judging.failures import STEP_S, last_progress
from pipeline.learning.subtask import Subtask
from pipeline.simulation.objects import Object
from pipeline.simulation.recipe import to_json

SYSTEMATIC = 0.6
"""Share of the episodes that have to show the same shortcut."""
STALLED_STEPS = 10
"""Control steps at the end without any progress: 1 s. What still improves may yet succeed."""
MOVED_M, PUSHED_M = 0.02, 0.05
"""Metres from which another object counts as moved, and as pushed away."""
COSTS = ("energy", "others_still", "upright")
"""Kinds of terms that are full at the start and can only fall."""
LESS, MORE = 0.3, 2.0
"""Factors by which a weight is changed."""

ShortcutKind = Literal["stalled", "kept_holding", "idle", "pushed_others", "refused"]


@dataclass(frozen=True)
class Shortcut:
    """How a policy is rewarded without doing the task."""

    kind: ShortcutKind
    layout: int
    """Where it is seen best."""
    time: float
    """Simulated seconds from when it is seen."""
    text: str
    """One sentence."""
    advice: str
    """What to change, in one sentence."""
    edits: tuple[Mapping[str, Any], ...]
    """That change, as `pipeline.learning.edits.edited` takes it."""


def find_shortcut(
    subtask: Subtask, episodes: Sequence[SubtaskEpisode], objects: Mapping[str, Object]
) -> Shortcut | None:
    """Return the shortcut that a policy takes systematically; None if it takes none.

    Args:
        episodes: of an evaluation.
        objects: of the world, by name, in the order of the episodes' shifts.
    """
    if not episodes:
        return None
    return _pushed_others(subtask, episodes, objects) or _not_done(subtask, episodes)


def _not_done(subtask: Subtask, episodes: Sequence[SubtaskEpisode]) -> Shortcut | None:
    """Return why a policy stops short of success in most episodes."""
    seen: list[tuple[tuple[ShortcutKind, int], int, SubtaskEpisode]] = []
    for episode in episodes:
        if not episode.success and not episode.lost and (found := _stop(subtask, episode)) is not None:
            seen.append((found[0], found[1], episode))
    if not seen:
        return None
    (kind, term), count = Counter(one[0] for one in seen).most_common(1)[0]
    if count < SYSTEMATIC * len(episodes):
        return None
    _, step, episode = next(one for one in seen if one[0] == (kind, term))
    miss = 100 * float(episode.misses[-1].sum())
    name = subtask.reward[term].term.term if term >= 0 else ""
    time = round(step * STEP_S, 1)
    if kind == "kept_holding":
        text = f"At {time:.1f} s the goal is met, but the hand keeps holding and never lets go."
        return Shortcut(kind, episode.layout, time, text, *_let_go(subtask))
    if kind == "idle":
        text = f"It hardly moves from {time:.1f} s on, because '{name}' costs more than the other terms pay."
        return Shortcut(kind, episode.layout, time, text, *_lighter(subtask, term))
    text = f"From {time:.1f} s on it is paid by '{name}' while the goal stays {miss:.1f} cm away."
    return Shortcut(kind, episode.layout, time, text, *_lighter(subtask, term))


def _stop(subtask: Subtask, episode: SubtaskEpisode) -> tuple[tuple[ShortcutKind, int], int] | None:
    """Return in which way an episode stops without success, by which term, and from which step on."""
    met = np.asarray((episode.misses <= 0).all(axis=1))
    if met[-STALLED_STEPS:].all() and all(episode.holding[-STALLED_STEPS:]):
        return ("kept_holding", -1), int(np.flatnonzero(~met)[-1]) + 1 if not met.all() else 0
    last = last_progress(subtask, episode)
    if last > episode.steps - STALLED_STEPS:
        return None
    weights = np.array([one.weight for one in subtask.reward])
    costs = np.array([one.term.term in COSTS for one in subtask.reward])
    if _stands_still(episode):
        heaviest = int(np.argmax(np.where(costs, weights, -1)))
        is_costly = costs.any() and weights[costs].sum() >= weights[~costs].sum()
        return (("idle", heaviest), last) if is_costly else None
    risen = episode.potentials[-1] - episode.potentials[0]
    # 0.9: share of a term's highest value in the episode at which it has to end: it is kept, not passed by
    is_kept = episode.potentials[-STALLED_STEPS:].min(axis=0) >= 0.9 * episode.potentials.max(axis=0)
    # Share of a term's weight that it has to rise by to count as paid
    paid = np.where(~costs & is_kept & (risen >= 0.1 * weights), risen, 0.0)
    if not paid.any():
        return None
    return ("stalled", int(np.argmax(paid))), last


def _stands_still(episode: SubtaskEpisode) -> bool:
    """Whether hardly any action is taken."""
    # 0.03: metres that the hand's joints move at most in an episode in which it stands still
    return bool(np.abs(episode.actions[:, :3]).mean() < 0.03)


def _pushed_others(
    subtask: Subtask, episodes: Sequence[SubtaskEpisode], objects: Mapping[str, Object]
) -> Shortcut | None:
    """Return the object that successful episodes push away although the subtask is not about it."""
    solved = [one for one in episodes if one.success]
    if len(solved) < SYSTEMATIC * len(episodes):
        return None
    names = list(objects)
    others = [i for i, name in enumerate(names) if name not in subtask.objects and not objects[name].fixed]
    pushed = [(episode, index) for episode in solved for index in others if episode.shifts[-1, index] >= PUSHED_M]
    if len({id(episode) for episode, _ in pushed}) < SYSTEMATIC * len(episodes):
        return None
    episode, index = max(pushed, key=lambda one: one[0].shifts[-1, one[1]])
    time = round(int(np.argmax(episode.shifts[:, index] >= MOVED_M)) * STEP_S, 1)
    shift = 100 * episode.shifts[-1, index]
    text = f"At {time:.1f} s it pushes {names[index]} away, by {shift:.0f} cm, and still counts as solved."
    return Shortcut("pushed_others", episode.layout, time, text, *keep_others_still(subtask, objects))


# ---------------------------------------------------------------------- what to change


def keep_others_still(subtask: Subtask, objects: Mapping[str, Object]) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return the change that pays for leaving the objects alone that the subtask is not about."""
    known = next((i for i, one in enumerate(subtask.reward) if one.term.term == "others_still"), None)
    if known is not None:
        return _heavier(subtask, known)
    others = [name for name, one in objects.items() if name not in subtask.objects and not one.fixed]
    row = {"term": "others_still", "weight": 2.0, "args": {"a": subtask.objects[0], "others": others}}
    advice = "Add the term 'others_still', so that other objects stay where they are."
    return advice, ({"change": "add_term", "row": row},)


def _lighter(subtask: Subtask, term: int) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    one = subtask.reward[term]
    weight = round(one.weight * LESS, 2)
    advice = f"Lower the weight of '{one.term.term}' from {one.weight:g} to {weight:g}."
    return advice, ({"change": "weight", "index": term, "weight": weight},)


def _heavier(subtask: Subtask, term: int) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    one = subtask.reward[term]
    weight = round(min(one.weight * MORE, 100.0), 2)
    advice = f"Raise the weight of '{one.term.term}' from {one.weight:g} to {weight:g}."
    return advice, ({"change": "weight", "index": term, "weight": weight},)


def _let_go(subtask: Subtask) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return the change that pays for letting go."""
    known = next((i for i, one in enumerate(subtask.reward) if one.term.term == "released"), None)
    if known is not None:
        return _heavier(subtask, known)
    row = {"term": "released", "args": {"goal": to_json(subtask.success[-1])}, "weight": 1.0}
    return "Add the term 'released', which pays for letting go where the goal is met.", (
        {"change": "add_term", "row": row},
    )
