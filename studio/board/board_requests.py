"""Requests of the gallery about projects, and the records that it shows of them."""

import time
from collections.abc import Callable
from typing import Any, cast, get_args
from urllib.parse import quote

from pipeline.project import STAGES
from pipeline.project.curation import Verdict
from pipeline.store import parse_json
from studio.accounts.roles import Role
from studio.board import batch_requests, bin_requests, set_requests
from studio.board.batches import Batches
from studio.board.board import Act, Board
from studio.board.project_bin import deleted_projects
from studio.board.project_facts import ProjectFacts
from studio.board.project_index import FIRST_SECONDS, GROUPS, NEXT_SECONDS, ORDERS, BoardQuery
from studio.board.review_queue import queue_names
from studio.board.set_requests import SetExports
from studio.sessions.wording import STAGE_TITLES
from studio.texts import t, translated
from studio.web.endpoints import Endpoint, PageToken
from studio.web.errors import RequestError

MAX_PAGE, MAX_SELECTED, MAX_WORDS = 200, 10_000, 200
MAX_AT_ONCE = 2000
"""Projects whose folders are looked at before the gallery is shown."""
AGES = (
    ("{n} day ago|{n} days ago", 86400),
    ("{n} hour ago|{n} hours ago", 3600),
    ("{n} minute ago|{n} minutes ago", 60),
)
"""How an age is written, with the seconds of its unit."""


def endpoint(board: Board, exports: SetExports, batches: Batches, token: PageToken) -> Endpoint:
    """Return the endpoint of the gallery's project board."""
    handlers = (
        HANDLERS | bin_requests.HANDLERS | set_requests.handlers(board, exports) | batch_requests.handlers(batches)
    )
    return Endpoint(handlers, token.context(board), roles=dict.fromkeys(READING, Role.LOOK))


def first_page(board: Board) -> dict[str, Any]:
    """Return the newest projects, as the answer to a request "find".

    Of a large workspace they are those of the last refresh, `outdated`, so that the page shows them at once.
    """
    is_large = board.index.known() > MAX_AT_ONCE
    if not is_large:
        board.index.refresh(FIRST_SECONDS)
    return _find(board, {}) | {"outdated": is_large}


# ---------------------------------------------------------------------- search


def _find(board: Board, request: dict) -> dict:
    if request.get("refresh"):
        board.index.refresh(NEXT_SECONDS)
    query = _query(request)
    found = board.index.find(query)
    return {
        "projects": [project_record(name, facts) for name, facts in found.rows],
        "total": found.total,
        "all": found.all,
        "offset": query.offset,
        "facets": found.facets,
        "unread": board.index.unread,
        "deleted": len(deleted_projects(board.sessions.workspace)),
    }


def _query(request: dict) -> BoardQuery:
    sort, group = str(request.get("sort") or ""), str(request.get("group") or "")
    return BoardQuery(
        words=_text(request, "words")[:MAX_WORDS],
        state=_text(request, "state"),
        verdict=_text(request, "verdict"),
        tag=_text(request, "tag"),
        sort=sort if sort in ORDERS else "changed",
        group=group if group in GROUPS else "",
        descending=request.get("descending") is not False,
        offset=min(_natural(request.get("offset"), 0), 1 << 31),
        limit=min(_natural(request.get("limit"), 60), MAX_PAGE),
    )


def project_record(name: str, facts: ProjectFacts) -> dict[str, Any]:
    """Return what the gallery shows of a project."""
    states = {"d": t("Done"), "f": t("Failed"), "t": t("Not started")}
    return {
        "name": name,
        "title": facts.title,
        "about": f"{ago(facts.changed)} · {_progress(facts)}",
        "when": ago(facts.changed),
        "at": time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.changed)),
        "image": f"thumbnail/project/{quote(name)}",
        "state": facts.state,
        "stages": facts.stages,
        "steps": "\n".join(
            f"{t(STAGE_TITLES[stage])}: {states[state]}" for stage, state in zip(STAGES, facts.stages, strict=True)
        ),
        "objects": facts.objects,
        "confidence": facts.confidence,
        "matched": facts.matched,
        "task": facts.task,
        "solved_by": translated(facts.solved_by),
        "seconds": round(facts.seconds),
        "verdict": facts.verdict,
        "reason": facts.reason,
        "by": facts.by,
        "tags": parse_json(facts.tags),
    }


def _progress(facts: ProjectFacts) -> str:
    """Return how far a project is, and whether its newest round failed."""
    if facts.done < len(STAGES):
        return t("{done} of {stages} stages done", done=facts.done, stages=len(STAGES))
    if facts.failed_round is not None:
        return t("round {number} failed", number=facts.failed_round)
    return t("not solved") if facts.state == "unsolved" else t("all stages done")


def ago(then: float) -> str:
    """Return how long ago a time, in seconds since 1970, is."""
    seconds = time.time() - then
    for age, length in AGES:
        if seconds >= length:
            number = int(seconds // length)
            return t(age, n=number)
    return t("just now")


def _queue(board: Board, request: dict) -> dict:
    """Return the projects to review: the selected ones, else all that the search finds."""
    names = queue_names(board, _query(request), _texts(request, "names"))
    if not names:
        raise RequestError("Nothing is left to review here: every project found was accepted or rejected.")
    return {"names": names}


# ---------------------------------------------------------------------- acts


def _rename(board: Board, request: dict) -> dict:
    (name,) = _names(request, most=1)
    return _done(board, t("Renamed."), *board.rename(name, _text(request, "title")))


def _tag(board: Board, request: dict) -> dict:
    add, remove = _texts(request, "add"), _texts(request, "remove")
    if not add and not remove:
        raise RequestError("Write a tag first.")
    id, act = board.tag(_names(request), add, remove)
    return _done(board, t("Tags of {n} project changed.|Tags of {n} projects changed.", n=len(act.names)), id, act)


def _judge(board: Board, request: dict) -> dict:
    verdict = _text(request, "verdict")
    if verdict not in get_args(Verdict):
        raise RequestError("Choose accepted, rejected or unsure.")
    id, act = board.judge(_names(request), cast(Verdict, verdict), _text(request, "reason"))
    notes = {
        "accepted": t("{n} project accepted.|{n} projects accepted.", n=len(act.names)),
        "rejected": t("{n} project rejected.|{n} projects rejected.", n=len(act.names)),
        "unsure": t("{n} project marked as unsure.|{n} projects marked as unsure.", n=len(act.names)),
        "": t("Verdict on {n} project removed.|Verdicts on {n} projects removed.", n=len(act.names)),
    }
    return _done(board, notes[verdict], id, act)


def _duplicate(board: Board, request: dict) -> dict:
    id, act = board.duplicate(_names(request))
    return _done(board, t("{n} project duplicated.|{n} projects duplicated.", n=len(act.undo)), id, act)


def _delete(board: Board, request: dict) -> dict:
    """Delete projects; if some are open and the request has no `confirmed`, answer a question instead."""
    names = _names(request)
    if request.get("confirmed") is not True and (titles := board.open_projects(names)):
        question = t(
            "{titles} is open in this studio, perhaps in another window. Delete it anyway?"
            "|{titles} are open in this studio, perhaps in other windows. Delete them anyway?",
            n=len(titles),
            titles=", ".join(titles[:5]) + (" …" if len(titles) > 5 else ""),
        )
        return {"question": question}
    id, act = board.delete(names)
    return _done(
        board, t("{n} project moved to the trash.|{n} projects moved to the trash.", n=len(act.names)), id, act
    )


def _undo(board: Board, request: dict) -> dict:
    act = board.undo(request.get("id"))
    board.index.refresh(NEXT_SECONDS)
    return {"note": t("Undone.") if act.names or not act.problems else "", "problems": act.problems[:5]}


def _done(board: Board, note: str, id: str, act: Act) -> dict:
    """Return {note, undo, problems}: what was done, the act that can be undone, and what could not be done."""
    board.index.refresh(NEXT_SECONDS)
    return {"note": note if act.names else "", "undo": id if act.undo else "", "problems": act.problems[:5]}


def _names(request: dict, most: int = MAX_SELECTED) -> list[str]:
    names = _texts(request, "names")
    if not names or len(names) > most:
        raise RequestError("Select one project first." if most == 1 else "Select some projects first.")
    return names


def _texts(request: dict, key: str) -> list[str]:
    values = request.get(key)
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _text(request: dict, key: str) -> str:
    value = request.get(key)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _natural(value: object, default: int) -> int:
    return value if isinstance(value, int) and value >= 0 else default


HANDLERS: dict[str, Callable[[Board, dict], dict]] = {
    "find": _find,
    "queue": _queue,
    "rename": _rename,
    "tag": _tag,
    "judge": _judge,
    "duplicate": _duplicate,
    "delete": _delete,
    "undo": _undo,
}
READING = ("find", "sets", "set_export", "bin", "batches")
"""Requests that change nothing; the others need Role.WORK."""
