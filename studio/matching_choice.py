"""How well each matcher does on a person's labelled frames: worked out in the background, one table at a time."""

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pipeline.assets.features import Features, learnt
from pipeline.assets.library import Library
from pipeline.evaluation.matching import (
    KIND_OF,
    TITLES,
    Bench,
    Figures,
    Line,
    Table,
    chosen_of,
    read_truth,
    score_matchers,
)
from pipeline.evaluation.matching_table import asked, head, to_csv, to_json
from pipeline.matching import MODES, Matcher, unavailable
from pipeline.models import Stopped
from pipeline.models.budget import Estimate, estimate_questions
from pipeline.run import Services
from studio.notices import sentence
from studio.services import Once, cache_folder
from studio.session import SessionError
from studio.work import Cancelled

LONGEST = 4096
"""Letters of a path."""


class Scoring:
    """The table that is worked out, or was last. May be called from any thread."""

    def __init__(self, services: Callable[[], Services]):
        self._services = services
        self._lock = threading.Lock()
        self._work: _Work | None = None

    def plan(self, words: Mapping[str, Any]) -> dict[str, Any]:
        """What there is to do, in a sentence, calls to a model included. Raises StudioErrors: what is wrong with it."""
        frames, truth, matchers = _read(words)
        services = self._services()
        objects = sum(len(truth[folder.name]) for folder in frames)
        kinds = {KIND_OF[one]: objects for one in chosen_of(services.model, matchers) if one in KIND_OF}
        said = f"{len(frames)} labelled frame{'s' * (len(frames) != 1)}, {objects} objects."
        if kinds:
            kinds |= {"describe_segment": objects} if getattr(services.model, "sees", False) else {}
            settings = getattr(services.model, "settings", None)
            told = estimate_questions(settings, kinds) if settings else None
            said += f" {_asks(services.model.name, sum(kinds.values()), told)}"
        return {"plan": said}

    def start(self, words: Mapping[str, Any]) -> dict[str, Any]:
        """Begins, in the place of what runs. Raises StudioErrors."""
        frames, truth, matchers = _read(words)
        services = self._services()
        for one in matchers:
            if why := unavailable(one, services.model, services.encoder):
                raise SessionError(f"{TITLES[one]} {why}.")
        work = _Work(services, frames, truth, matchers, _paths(words.get("libraries")), words.get("masks") == "true")
        self.stop()
        with self._lock:
            self._work = work
        work.start()
        return self.state()

    def state(self) -> dict[str, Any]:
        work = self._work
        return work.shown() if work else {"running": False, "table": None}

    def stop(self) -> None:
        """Ends it; what is done of the table stays."""
        if self._work:
            self._work.stop.set()

    def download(self, form: object) -> dict[str, Any]:
        """The table as a file: {name, data}, in base64. Raises SessionError."""
        table = self._work.table if self._work else None
        if table is None:
            raise SessionError("There is no table yet; score the matchers first.")
        text = to_csv(table) if form == "csv" else json.dumps(to_json(table), indent=1)
        name = f"matchers.{'csv' if form == 'csv' else 'json'}"
        return {"name": name, "data": base64.b64encode(text.encode()).decode()}


class _Work:
    """One table, in a thread of its own."""

    def __init__(
        self, services: Services, frames: list[Path], truth: dict, matchers: list[Matcher], libraries: list[Path],
        given: bool,
    ):  # fmt: skip
        self.stop, self.table = threading.Event(), None
        self._services, self._frames, self._truth, self._given = services, frames, truth, given
        self._matchers, self._libraries = matchers, libraries
        self._said: dict[str, Any] = {"running": True, "done": 0, "of": 0, "said": "opening the library", "error": ""}

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="scoring").start()

    def shown(self) -> dict[str, Any]:
        return self._said | {"table": None if self.table is None else _table(self.table)}

    def _run(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="grs-") as folder:
                self._score(Path(folder))
        except (Stopped, Cancelled):
            done = self.table.frames if self.table else 0
            rest = "; the table is of those" if done else ""
            self._tell(said=f"stopped after {done} of {len(self._frames)} frames{rest}")
        except Exception as error:
            self._tell(error=sentence(error))
        finally:
            self._tell(running=False)

    def _score(self, folder: Path) -> None:
        services, library, features = self._services, self._services.library, self._services.features
        if self._libraries:
            library = Library.open(self._libraries)
            features = Once(lambda: Features.of(library, cache_folder(), encoder=services.encoder))
        for done, _ in enumerate(learnt(library, cache_folder(), services.encoder), 1):
            self._tell(done=done, of=len(library), said="looking at the library's assets from all sides")
        bench = Bench(
            self._frames, self._truth, library, services.segmenter, services.model, features, services.encoder, folder,
            self._given, self.stop,
        )  # fmt: skip
        with closing(score_matchers(bench, self._matchers)) as steps:  # type: ignore[type-var]
            for step in steps:
                self.table = step.table or self.table
                self._tell(done=step.done, of=step.of, said=step.said)
        self._tell(said="done")

    def _tell(self, **said: Any) -> None:
        self._said = self._said | said
        if self.stop.is_set() and self._said["running"] and "said" in said and not said["said"].startswith("stopped"):
            raise Cancelled("stopped by a person")


def _read(words: Mapping[str, Any]) -> tuple[list[Path], dict[str, Any], list[Matcher]]:
    """The labelled frames, their truth, and the matchers that are wanted. Raises StudioErrors."""
    frames, truth = _paths(words.get("frames")), _paths(words.get("truth"))
    if not frames:
        raise SessionError("Name the folder of your labelled frames.")
    if not frames[0].is_dir():
        raise SessionError(f"{frames[0]} is no folder on the machine that the studio runs on.")
    folders, known = read_truth(frames[0], truth[0] if truth else frames[0] / "assets.json")
    wanted = words.get("matchers")
    named: list[Matcher] = [mode.name for mode in MODES if isinstance(wanted, list) and mode.name in wanted]
    if not named:
        raise SessionError("Choose at least one matcher.")
    return folders, known, named


def _paths(told: object) -> list[Path]:
    lines = [line.strip() for line in told.splitlines()] if isinstance(told, str) else []
    return [Path(line).expanduser() for line in lines if line and len(line) < LONGEST and "\0" not in line]


def _asks(model: str, calls: int, told: Estimate | None) -> str:
    if told is None:
        return f"About {calls} questions to {model}."
    return f"{told.sentence.partition(', ')[2].capitalize()} ({model})."


def _table(table: Table) -> dict[str, Any]:
    return {"head": head(table), "lines": [_line(one) for one in table.lines]}


def _line(one: Line) -> dict[str, Any]:
    kept = one.exact.f1.null_kept if one.exact else None
    return {
        "matcher": one.matcher, "title": one.title, "unavailable": one.unavailable, "exact": _figures(one.exact),
        "category": _figures(one.category), "kept": _number(kept), "seconds": round(one.seconds, 2),
        "asked": "" if one.matcher not in KIND_OF else asked(one),
    }  # fmt: skip


def _figures(one: Figures | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    numbers = {"f1": one.f1.f1, "low": one.f1.low, "high": one.f1.high, "first": one.first, "five": one.five}
    return {name: _number(value) for name, value in numbers.items()}


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 4)
