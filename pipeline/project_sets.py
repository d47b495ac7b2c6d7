"""Sets: named selections of accepted projects of a workspace with a split, exported together with a card."""

import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from pipeline.errors import StudioError
from pipeline.export import export_project, name_ending
from pipeline.project.curation import MAX_REASON, read_curation
from pipeline.store import StoreError, digest, listed, parse_json, read_json, saving, write_json, write_text

FOLDER = ".sets"
"""Of a workspace, with one JSON file a set."""
SCHEMA = 1
NAME = re.compile(r"[\w][\w.-]{0,59}")
CARD = "card.md"
Split = Literal["train", "test"]


class SetError(StudioError):
    """A set that cannot be made, read or exported."""


@dataclass(frozen=True)
class SetSettings:
    """How a set is split, and what its card says besides the numbers."""

    test_share: float = 0.2
    """Share of the projects in the test split, in [0, 1)."""
    seed: int = 0
    by_source: bool = False
    """Keep projects whose frames have the same source in the same split."""
    about: str = ""
    licence: str = ""

    def __post_init__(self):
        if not 0 <= self.test_share < 1:
            raise SetError("The share of the test split is from 0 to below 1, as in 0.2.")
        if max(len(self.about), len(self.licence)) > MAX_REASON:
            raise SetError(f"That text is too long; {MAX_REASON} characters are the most.")


@dataclass(frozen=True)
class ProjectSet:
    """A named selection of projects."""

    name: str
    settings: SetSettings
    split: Mapping[str, Split]
    """By the name of the project's folder."""
    made: float
    """Seconds since 1970."""


def make_set(workspace: Path, name: str, projects: Sequence[str], settings: SetSettings) -> ProjectSet:
    """Make a set of these projects, or of all accepted ones if none are named, and save it.

    Raises SetError if the name is taken or cannot be a file's, or a project was not accepted.
    """
    if not NAME.fullmatch(name):
        raise SetError("A set's name has letters, digits, points, - and _ only, and 60 characters at most.")
    if _path(workspace, name).exists():
        raise SetError(f"There is a set {name} already; choose another name.")
    chosen = sorted(set(projects)) or sorted(accepted_projects(workspace))
    if not chosen:
        raise SetError("No project was accepted yet; accept some on the board first.")
    if left := [one for one in chosen if read_curation(workspace / one).verdict != "accepted"]:
        more = f" and {len(left) - 5} more" if len(left) > 5 else ""
        raise SetError(f"Only accepted projects belong to a set; not accepted: {', '.join(left[:5])}{more}.")
    sources = {one: _source(workspace / one) or _picture(workspace / one) or one for one in chosen}
    made = ProjectSet(name, settings, split_projects(sources, settings), time.time())
    _path(workspace, name).parent.mkdir(exist_ok=True)
    write_json(_path(workspace, name), {"schema": SCHEMA} | asdict(made))
    return made


def split_projects(sources: Mapping[str, str], settings: SetSettings) -> dict[str, Split]:
    """Return the split of each project, the same for the same seed whatever their order; `sources` are by project.

    The test split has the share that was asked for, to the nearest project. By source it has no more than that, and at
    least one source if there are two.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for project in sorted(sources):
        groups[sources[project] if settings.by_source else project].append(project)
    order = sorted(groups)
    random.Random(settings.seed).shuffle(order)
    wanted = round(settings.test_share * len(sources))
    test: list[str] = []
    for group in order:
        if len(test) + len(groups[group]) <= wanted:
            test += groups[group]
    if wanted and not test and len(order) > 1:
        test = min((groups[group] for group in order), key=len)
    return {project: "test" if project in set(test) else "train" for project in sorted(sources)}


def read_sets(workspace: Path) -> list[ProjectSet]:
    """Return the sets of a workspace, the newest first; files that cannot be read are left out."""
    found = []
    for path in (workspace / FOLDER).glob("*.json"):
        try:
            found.append(read_set(workspace, path.stem))
        except SetError:
            continue
    return sorted(found, key=lambda one: -one.made)


def read_set(workspace: Path, name: str) -> ProjectSet:
    """Read a set. Raises SetError."""
    try:
        values = read_json(_path(workspace, name), SCHEMA) if NAME.fullmatch(name) else None
        if values is None:
            known = ", ".join(sorted(path.stem for path in (workspace / FOLDER).glob("*.json"))) or "none"
            raise SetError(f"There is no set {name}; there are: {known}.")
        split: dict[str, Split] = {
            str(key): "test" if one == "test" else "train" for key, one in values["split"].items()
        }
        return ProjectSet(
            name, TypeAdapter(SetSettings).validate_python(values["settings"]), split, float(values["made"])
        )
    except (StoreError, KeyError, TypeError, ValueError, AttributeError):
        raise SetError(f"The file of the set {name} is damaged; delete {_path(workspace, name)}.") from None


def remove_set(workspace: Path, name: str) -> None:
    """Remove a set; its projects stay. Raises SetError."""
    read_set(workspace, name)
    with saving(f"{name} was not removed"):
        _path(workspace, name).unlink()


def accepted_projects(workspace: Path) -> Iterator[str]:
    """Yield the folders of the accepted projects of a workspace."""
    for path in workspace.glob("*/project.json"):
        if not path.parent.name.startswith(".") and read_curation(path.parent).verdict == "accepted":
            yield path.parent.name


def export_set(workspace: Path, chosen: ProjectSet, exporter: str, out: Path) -> Generator[str]:
    """Write the card, set.json and train/ and test/ with each project in the format to a new folder, or to a .zip.

    Yields the name of each project when it is written, and sentences about what its format left out. Closed early, or
    after an error, it leaves nothing. Raises SetError if `out` exists or a project is gone, and what exporters raise.
    """
    if out.exists():
        raise SetError(f"{out.name} exists already; choose a new name.")
    found = {name: listed(workspace, name) for name in chosen.split}
    if gone := [name for name, folder in found.items() if folder is None or not (folder / "project.json").is_file()]:
        raise SetError(f"The set {chosen.name} has projects that are gone: {', '.join(gone[:5])}; make it again.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".set-") as temporary:
        folder = Path(temporary) / chosen.name
        for name, split in chosen.split.items():
            place = folder / split / f"{name}{name_ending(exporter)}"
            yield from (f"{name}: {left_out}" for left_out in export_project(workspace / name, exporter, place))
            yield name
        write_text(folder / CARD, set_card(workspace, chosen))
        write_text(folder / "set.json", json.dumps(asdict(chosen), indent=1, ensure_ascii=False))
        if out.suffix == ".zip":
            packed = Path(shutil.make_archive(str(Path(temporary) / "packed"), "zip", temporary, chosen.name))
            packed.rename(out)
        else:
            folder.rename(out)


def set_card(workspace: Path, chosen: ProjectSet) -> str:
    """Return the card of a set in Markdown: what it is, where it is from, its licence and its numbers."""
    records = {name: _facts(workspace / name) for name in chosen.split}
    splits = Counter(chosen.split.values())
    sources = Counter(one["source"] or "unknown" for one in records.values())
    objects = Counter(name for one in records.values() for name in one["objects"])
    counted = ("solved", "doubtful", "failed", "matched")
    solved, doubtful, failed, matched = (sum(one[key] for one in records.values()) for key in counted)
    people = sorted({one["by"] for one in records.values()} - {""})
    settings, count = chosen.settings, sum(objects.values())
    day, by = time.strftime("%Y-%m-%d", time.gmtime(chosen.made)), ", ".join(people) or "one person"
    way = "by source" if settings.by_source else "by project"
    lines = [
        f"# {chosen.name}", "", settings.about or "RGB-D frames with simulation twins, made with GRS Studio.", "",
        f"* Licence: {settings.licence or 'not stated'}",
        f"* Made: {day}, accepted by {by}",
        f"* Split: {splits['train']} train, {splits['test']} test, {way}, seed {settings.seed}", "",
        "## Numbers", "", "| | |", "|---|---|",
        f"| Projects | {len(records)} |", f"| Objects | {count} |",
        f"| Objects with an asset | {matched} |", f"| Solved tasks | {solved} |",
        f"| Doubtful twins | {doubtful} |", f"| Doubtful programs | {failed} |", "",
        "## Where from", "", *_table("Source", sources), "", "## Objects", "", *_table("Name", objects), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _table(title: str, counts: Counter[str], most: int = 40) -> Iterable[str]:
    yield from (f"| {title} | Number |", "|---|---|")
    yield from (f"| {name.replace('|', ' ')} | {count} |" for name, count in counts.most_common(most))
    if len(counts) > most:
        yield f"| {len(counts) - most} more | {sum(counts.values()) - sum(n for _, n in counts.most_common(most))} |"


def _facts(folder: Path) -> dict[str, Any]:
    placements = (_read(folder / "scene.json") or {}).get("placements", [])
    matches = _read(folder / "matches.json") or []
    solution = _read(folder / "solution.json") or {}
    doubtful = bool((_read(folder / "project.json") or {}).get("doubtful"))
    return {
        "source": _source(folder),
        "objects": [str(one.get("name", "")).replace("_", " ") for one in placements],
        "matched": sum(one.get("asset_id") is not None for one in matches),
        "solved": not doubtful and bool(solution.get("solved")) and not solution.get("failed_check"),
        "doubtful": doubtful,
        "failed": bool(solution.get("failed_check")),
        "by": read_curation(folder).by,
    }


def _source(folder: Path) -> str:
    return str((_read(folder / "project.json") or {}).get("source") or "")


def _picture(folder: Path) -> str:
    """Return a digest of the photograph: projects of one frame have one source."""
    path = folder / "frame" / "rgb.png"
    return digest(path.read_bytes()) if path.is_file() else ""


def _read(path: Path) -> Any:
    try:
        return parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def _path(workspace: Path, name: str) -> Path:
    return workspace / FOLDER / f"{name}.json"
