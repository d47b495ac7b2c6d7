"""Conditions of `grs-studio vary` under which the robot failed: a table, and what it did under one of them."""

from collections.abc import Mapping
from typing import Any

from pipeline.simulation.robots import ROBOTS
from pipeline.store import StoreError, read_json
from studio.sessions.session import Session
from studio.sessions.watched_condition import FOLDER, WatchedCondition
from studio.web.errors import RequestError

MAX_ROWS = 200
STRONGEST = 3
"""Factors whose values a row shows."""


def condition_record(session: Session | None) -> dict[str, Any]:
    """Return ConditionTable's value."""
    if session is None:
        return {"studies": [], "watched": None}
    watched = session.watched
    shown = None if watched is None else {"study": watched.study, "id": watched.id}
    return {"studies": [study for name in _names(session) if (study := _study(session, name))], "watched": shown}


def watch(session: Session, message: Mapping[str, Any]) -> None:
    """Show what the robot did under the condition {study, id}; end it without. Raises RequestError."""
    session.watched = None
    if message.get("id") is None:
        return
    study = _study(session, str(message.get("study"))) if message.get("study") in _names(session) else None
    if study is None or all(row["id"] != message["id"] for row in study["failures"]):
        raise RequestError("That condition is no longer there; reload the page.")
    session.replay.hide()
    session.compared = None
    session.watched = WatchedCondition(study["name"], study["robot"], str(message["id"]))


def _names(session: Session) -> list[str]:
    found = (session.project.folder / FOLDER).glob("*/variation.json")
    return sorted(path.parent.name for path in found)


def _study(session: Session, name: str) -> dict[str, Any] | None:
    """Return {name, robot, title, success, factors, failures: [{id, reward, reason, values}]}; None if damaged."""
    file = f"{FOLDER}/{name}/variation.json"
    return session.cache.get(f"variation {name}", file, lambda: _read(session, name))


def _read(session: Session, name: str) -> dict[str, Any] | None:
    from pipeline.variation import VariationError
    from pipeline.variation.variation_files import read_conditions

    folder = session.project.folder / FOLDER / name
    try:
        data = read_json(folder / "variation.json")
        title, success = str(data["robot"]), data["success"]
        factors = [str(effect["factor"]) for effect in data["effects"][:STRONGEST]]
        values = {row["id"]: row["values"] for row in read_conditions(folder)}
        failures = [
            {"id": row["id"], "reward": float(row["reward"]), "reason": str(row["reason"]),
             "values": [values[row["id"]].get(factor, "") for factor in factors]}
            for row in data["failures"][:MAX_ROWS]
        ]  # fmt: skip
        robot = title.split()[0]
        if robot not in (*ROBOTS, "policy"):
            return None
        counts = {key: success[key] for key in ("successes", "count", "low", "high")}
    except (StoreError, VariationError, KeyError, TypeError, ValueError, IndexError) as error:
        session.log.report_once(RequestError(f"{FOLDER}/{name} cannot be read ({error}); run grs-studio vary again."))
        return None
    return {"name": name, "robot": robot, "title": title, "success": counts, "factors": factors, "failures": failures}
