"""Marks on the timeline of a round: the oracle's actions, and the failed checks at their moment."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.router.round_record import check_instant
from pipeline.simulation.program import CheckResult, Report
from pipeline.simulation.run_record import RunRecord
from studio.viewer.presentation import Mark

SPEEDS = (1.0, 2.0, 5.0, 10.0)


def playback_speed(duration: float) -> float:
    """Return the speed at which a rollout of `duration` seconds is played while further rounds are judged."""
    # 5.0: wall-clock time that a round played as it is judged should take at most
    return next((speed for speed in SPEEDS if duration / speed <= 5.0), SPEEDS[-1])


def event_marks(events: Iterable[dict[str, Any]]) -> list[Mark]:
    """Return marks for the oracle's actions."""
    return [
        Mark(
            float(e["time"]),
            str(e["message"] or f"{e['verb']} {e['object']}"),
            "event" if e["ok"] else "failed",
            str(e["object"]),
        )
        for e in events
    ]


def timeline_marks(record: RunRecord, report: Report | None, names: Sequence[str]) -> list[Mark]:
    """Return marks for the oracle's actions and, once the round is judged, for its failed checks.

    `names` are those of the objects.
    """
    failed = [check for check in report.checks if not check.passed] if report else []
    return [*event_marks(record.events), *(_check_mark(check, record, names) for check in failed)]


def _check_mark(check: CheckResult, record: RunRecord, names: Sequence[str]) -> Mark:
    named = list(objects_named(f"{check.message} {check.name}", names)) or list(_unmet_objects(record))
    time = check_instant(check, record)
    return Mark(time, check.message or check.name, "failed", named[0] if named else "", check.name)


def objects_named(text: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the objects whose names occur in a text, in its order; a name within a longer one does not count."""
    found: dict[int, str] = {}
    for name in sorted(names, key=len, reverse=True):
        for written in (name, name.replace("_", " ")):
            at = text.find(written)
            if at >= 0:
                found[at] = name
                text = text.replace(written, "\0" * len(written))
    yield from dict.fromkeys(found[at] for at in sorted(found))


def _unmet_objects(record: RunRecord) -> Iterator[str]:
    for goal in record.goals:
        if not goal["met"]:
            yield from goal.get("objects", ())
