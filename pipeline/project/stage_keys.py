"""The hash of the inputs of each stage: frame, producers of the stages before it, and decisions."""

import json
from typing import Any

from pipeline.decisions import Decision, History
from pipeline.models.model import STAGE_OF
from pipeline.project.fold import Fold
from pipeline.project.stage_record import QUESTION_DECISIONS, STAGE_DECISIONS, STAGES, Stage
from pipeline.store.values import json_default, new_hasher


class StageKeys:
    """Hashes equal to `digest(frame, producers, decisions)`, continued from the one before at each new decision."""

    def __init__(self, history: History):
        self._history = history
        self._folds: dict[Stage, tuple[Any, Fold]] = {}

    def key(self, stage: Stage, *inputs: Any) -> str:
        """Return the hash of these inputs and of the active decisions that the stage, or one before it, depends on."""
        prefix = json.dumps(inputs, sort_keys=True, default=json_default)
        known = self._folds.get(stage)
        if known is None or known[0] != prefix:
            begin = new_hasher(*inputs)
            begin.update(b"[")
            # Number of hashes kept: an undo of more decisions than these hashes all of them again
            known = self._folds[stage] = (prefix, Fold((begin, b""), _with_decision, 256))
        hasher, _ = known[1].over(self._history.view(("stage key", stage), lambda d: _concerns(stage, d)))
        hasher = hasher.copy()
        hasher.update(b"]\0")
        return hasher.hexdigest()


def _with_decision(before: tuple[Any, bytes], decision: Decision) -> tuple[Any, bytes]:
    hasher, separator = before[0].copy(), before[1]
    text = json.dumps([decision.kind, decision.data], sort_keys=True, default=json_default)
    hasher.update(separator + text.encode())
    return hasher, b", "


def _concerns(stage: Stage, decision: Decision) -> bool:
    """Whether the stage, or one before it, depends on the decision."""
    stages = STAGES[: STAGES.index(stage) + 1]
    if not any(decision.kind in STAGE_DECISIONS.get(one, ()) for one in stages):
        return False
    return decision.kind not in QUESTION_DECISIONS or STAGE_OF.get(decision.data["kind"]) in stages
