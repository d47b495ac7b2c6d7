"""What objects are called on the screen and in a person's sentences. Files, programs and checks have ids."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.planner.language.object_names import plain_names
from pipeline.planner.language.wording import in_plain_words
from pipeline.planner.scene_objects import TableTop, scene_objects
from pipeline.project import Project
from pipeline.scene.object_names import current_names, use_current_names
from pipeline.scene.scene_files import read_scene
from pipeline.simulation import kit
from pipeline.tasks import scene_to_json


@dataclass(frozen=True)
class ObjectWords:
    """Words for the objects of a twin, by id: the names of their placements."""

    plain: Mapping[str, str] = field(default_factory=dict)
    """A phrase without "the" that the offline planner reads as that object: "left red cube"."""
    display: Mapping[str, str] = field(default_factory=dict)
    """The names that a person gave."""
    former: Mapping[str, str] = field(default_factory=dict)
    """The id of today by each earlier one."""

    def of(self, id: str) -> str:
        """Return what an object is called: its display name, else the words of its id, "red cube 2".

        Neither depends on where any object stands. Sentences tell equal objects apart by their places, `in_words`.
        """
        return self.display.get(id) or id.replace("_", " ")

    def in_words(self, text: str) -> str:
        """Return a text for the screen, with every id in it replaced by what the object is called."""
        return self.with_display_names(in_plain_words(use_current_names(text, self.former), self.plain))

    def with_names_for_ids(self, text: str) -> str:
        """Return a text, such as a line of a log, with the ids of objects that have a display name replaced by it."""
        if not self.display:
            return text
        ids = rf"\b(?:{'|'.join(map(re.escape, self.display))})\b"
        return re.sub(ids, lambda match: self.display[match[0]], use_current_names(text, self.former))

    def of_check(self, name: str) -> str:
        """Return a check's title: "Grandma's mug ends inside bin" for check_mug_ends_inside_bin."""
        words = name.removeprefix("check_")
        ids = sorted({*self.plain, *self.display}, key=len, reverse=True)
        if not self.display or not ids:
            return words.replace("_", " ")
        parts = re.split(rf"(?<![^_])({'|'.join(map(re.escape, ids))})(?![^_])", words)
        return "".join(self.display.get(part, part.replace("_", " ")) for part in parts)

    def with_display_names(self, text: str) -> str:
        """Return a text in which plain phrases are replaced by display names: "Lift Grandma's mug" for "Lift the mug".

        Inverse of `without_display_names` for texts that mention objects by their plain phrases.
        """
        if not self.display:
            return text
        phrases = {self._phrase(id): id for id in (*self.plain, *self.display)}  # all: one may begin another
        found = "|".join(f"[{p[0]}{p[0].upper()}]{re.escape(p[1:])}" for p in sorted(phrases, key=len, reverse=True))

        def named(match: re.Match[str]) -> str:
            phrase = match[0][0].lower() + match[0][1:]
            return self.display.get(phrases[phrase], match[0])

        return re.sub(rf"(?<!\w)(?:{found})(?!\w)", named, text)

    def without_display_names(self, text: str) -> str:
        """Return a person's sentence with plain phrases in the place of display names, in any case of letters.

        Plain phrases of the sentence stay, even if a display name is a part of one.
        """
        if not self.display:
            return text
        ids = {_key(name): id for id, name in self.display.items()}
        names = sorted(self.display.values(), key=len, reverse=True)
        found = "|".join(re.sub("['’]", "['’]", re.escape(name)) for name in names)
        kept = "|".join(map(re.escape, sorted(self.plain.values(), key=len, reverse=True))) or "(?!)"

        def plain(match: re.Match[str]) -> str:
            id = ids.get(_key(match[1])) if match[1] else None
            phrase = match[0] if id is None else self._phrase(id)
            return phrase[0].upper() + phrase[1:] if match.start() == 0 else phrase

        return re.sub(rf"(?<!\w)(?:the (?:{kept})|(?:the )?({found}))(?!\w)", plain, text, flags=re.IGNORECASE)

    def _phrase(self, id: str) -> str:
        return f"the {self.plain[id]}" if id in self.plain else id


def _key(name: str) -> str:
    return name.replace("’", "'").casefold()


def object_words(project: Project) -> ObjectWords:
    """Return the words for the objects of a project's twin; none without a twin that can be read."""
    scene_file = project.folder / "scene.json"
    try:
        changed = scene_file.stat().st_mtime_ns
        plain, ids, former = _words_of_scene(project.folder, changed)
    except (FileNotFoundError, StudioError):
        return ObjectWords()
    return ObjectWords(plain, {ids[id]: name for id, name in project.display_names().items() if id in ids}, former)


def segment_words(project: Project) -> dict[int, str]:
    """Return what the objects of a project's twin are called, by segment id; empty without a twin that can be read."""
    words = object_words(project)
    try:
        ids = _words_of_scene(project.folder, (project.folder / "scene.json").stat().st_mtime_ns)[1]
    except (FileNotFoundError, StudioError):
        return {}
    return {segment: words.of(id) for segment, id in ids.items()}


@lru_cache(maxsize=16)
def _words_of_scene(project_dir: Path, changed: int) -> tuple[Mapping[str, str], Mapping[int, str], Mapping[str, str]]:
    """Return the plain phrases by id, the ids by segment id, and the ids of today by earlier ones."""
    scene, placements = scene_to_json(kit.Scene.load(project_dir)), read_scene(project_dir).placements
    plain = plain_names(scene_objects(scene), TableTop.from_json(scene))
    return plain, {p.segment_id: p.name for p in placements}, current_names(placements)
