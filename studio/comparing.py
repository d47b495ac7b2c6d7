"""Candidates drawn in the photograph's view, in the background and one by one, kept in the project's cache.

What a page asks here is answered at once, outside Gradio's queue: what is not drawn yet is said to be being drawn.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from PIL import Image

from pipeline.assets import Asset
from pipeline.assets.reconstruct import WAYS
from pipeline.description import Description
from pipeline.errors import StudioError
from pipeline.geometry import Pose
from pipeline.scene import Placement, SceneError, candidate
from pipeline.scene.laying import GLANCE
from pipeline.scene.making import preview
from pipeline.scene.placing import lay
from pipeline.segmentation import Segment
from pipeline.store import digest, read_json, replacing, write_json
from studio.library_search import Wanted, find
from studio.notices import sentence
from studio.pictures import jpeg, stamp
from studio.session import Session, SessionError
from studio.sessions import Sessions

DRAWN = 6
"""Rises when the same thing is drawn differently."""
WAY = "way:"
"""Before the name of a way, where an asset's id stands else: the object made from the view so."""
MOST = 12
"""Candidates of one object that are asked for at once."""
FOUND = 48
"""Assets shown of a search."""
PAUSE = 0.2
"""Seconds between looks at whether the project's own work is done: that goes before what nobody looks at yet."""
PATIENCE = 20.0
"""Seconds that drawing waits for it at most: a router may work for many minutes."""
KIND_TO_OTHERS = 12
"""How much a drawing thread stands back, as `nice` counts."""


@dataclass(frozen=True, eq=False)
class Wish:
    """One thing to be drawn over one object."""

    key: str
    draw: Callable[[], dict[str, Any]]
    """Draws and keeps it; its facts."""


class Drawer:
    """Draws what one session's page asks for: what is looked at now at once, the others when no work goes on."""

    def __init__(self, session: Session):
        self._session, self._lock = session, threading.Lock()
        self._wanted: dict[bool, list[Wish]] = {True: [], False: []}
        """By whether it is looked at now."""
        self._running: set[bool] = set()
        self._under_way: set[str] = set()
        self._failed: dict[str, str] = {}

    def standing(self, wishes: list[Wish]) -> list[dict[str, Any]]:
        """The facts of each where it is drawn, else its state; the first is looked at, and nothing else is drawn."""
        folder = folder_of(self._session)
        known = [read_json(folder / f"{wish.key}.json") for wish in wishes]
        done = self._failed.keys() | self._under_way
        with self._lock:
            missing = [w for w, k in zip(wishes, known, strict=True) if k is None and w.key not in done]
            self._wanted = {
                True: [w for w in missing if w is wishes[0]],
                False: [w for w in missing if w is not wishes[0]],
            }
            for now in (True, False):
                if self._wanted[now] and now not in self._running:
                    self._running.add(now)
                    threading.Thread(target=self._run, args=(now,), daemon=True, name="comparing").start()
            return [self._said(wish.key, facts) for wish, facts in zip(wishes, known, strict=True)]

    def _said(self, key: str, facts: dict[str, Any] | None) -> dict[str, Any]:
        if facts is not None:
            image = f"/project/{self._session.token}/candidate/{key}.png"
            return facts | {"state": "ready", "image": image}
        return {"state": "failed", "why": self._failed[key]} if key in self._failed else {"state": "drawing"}

    def _run(self, now: bool) -> None:
        if sys.platform == "linux" and not now:  # where a thread has a niceness of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), KIND_TO_OTHERS)
        while wish := self._next(now):
            try:
                wish.draw()
            except Exception as error:
                self._failed[wish.key] = sentence(error)
            self._under_way.discard(wish.key)

    def _busy(self) -> bool:
        """Whether there is something that goes before what nobody looks at yet."""
        return self._session.work is not None or True in self._running

    def _next(self, now: bool) -> Wish | None:
        began = time.monotonic()
        while not now and self._busy() and time.monotonic() - began < PATIENCE:
            time.sleep(PAUSE)
        with self._lock:
            if not self._wanted[now]:
                self._running.discard(now)
                return None
            wish = self._wanted[now].pop(0)
            self._under_way.add(wish.key)
            return wish


_drawers: "WeakKeyDictionary[Session, Drawer]" = WeakKeyDictionary()


def answer(sessions: Sessions, request: dict) -> dict:
    """What the cards ask for: {token, seq, kind, ...}; see ObjectCards."""
    seq = request.get("seq")
    try:
        session = sessions.get(request.get("token"))
        return {"seq": seq, **ANSWERS.get(str(request.get("kind")), compared)(session, request)}
    except StudioError as error:
        return {"seq": seq, "error": sentence(error)}


def compared(session: Session, request: dict) -> dict[str, Any]:
    """How the drawings of an object's candidates stand: {id, assets: [asset id, or "" for what the twin shows]}."""
    segment = _segment(session, request.get("id"))
    assets = request.get("assets")
    if not isinstance(assets, list) or len(assets) > MOST or not all(isinstance(one, str) for one in assets):
        raise SessionError(f"At most {MOST} candidates are drawn at once; reload the page.")
    drawer = _drawers.setdefault(session, Drawer(session))
    wishes = {id: wish for id in assets if (wish := _wish(session, segment, id))}
    said = dict(zip(wishes, drawer.standing(list(wishes.values())), strict=True))
    view = candidate.window(segment.mask)
    return {
        "id": segment.id,
        "photo": f"/project/{session.token}/window/{segment.id}.jpg?{stamp(segment)}",
        "gone": f"/project/{session.token}/without/{segment.id}.jpg?{stamp(segment)}",
        "aspect": view.width / view.height,
        "outline": candidate.outline(segment.mask[view.part]),
        "drawn": {id: said.get(id, {"state": "none"}) for id in assets},
    }


def searched(session: Session, request: dict) -> dict[str, Any]:
    """The library's assets that answer to words, best first: {words}."""
    words = Wanted(words=str(request.get("words", ""))[:200])
    found = find(session.services.library, words, session.services.encoder, limit=FOUND)
    assets = [_asset(session, one) for one in found.assets[:FOUND]]
    return {"total": found.total, "every_word": found.every_word, "assets": assets}


ANSWERS: dict[str, Callable[[Session, dict], dict]] = {"compare": compared, "search": searched}


def picture(session: Session, kind: str, name: str) -> tuple[bytes, str]:
    """A picture for the page and its media type: a "candidate" by its key; the "window" of a segment, or the same
    "without" it. Raises SessionError."""
    if kind == "candidate":
        path = folder_of(session) / f"{Path(name).stem}.png"
        if not path.exists():
            raise SessionError("That candidate is not drawn yet.")
        return path.read_bytes(), "image/png"
    segment = _segment(session, int(Path(name).stem) if Path(name).stem.isdigit() else None)
    frame = session.project.frame
    whole = kind == "window"
    rgb = frame.rgb[candidate.window(segment.mask).part] if whole else candidate.without(frame, segment.mask)
    return jpeg(np.ascontiguousarray(rgb), quality=92), "image/jpeg"


def folder_of(session: Session) -> Path:
    return session.project.folder / "cache" / "candidates"


def _segment(session: Session, id: object) -> Segment:
    known = session.kept("segments", "segments/masks.png", session.project.segments) or ()
    found = next((one for one in known if one.id == id), None)
    if found is None:
        raise SessionError("That object is not there any more; pick another.")
    return found


def _wish(session: Session, segment: Segment, asset_id: str) -> Wish | None:
    """What is to be drawn for an asset, for what was made from the view where the id is empty, or for what would be
    in a WAY; None where there is none. What the twin shows is drawn as it stands there."""
    project = session.project
    seen = digest("candidate", DRAWN, project.frame_key, segment.mask)
    scene = session.kept("scene", "scene.json", project.scene)
    placed = next((p for p in scene.placements if p.segment_id == segment.id), None) if scene else None
    if placed is not None and (placed.asset_id or "") == asset_id:
        p, pose = placed, placed.world_from_object
        key = digest(seen, _content(p.mesh, session.stamp("scene.json")), p.size, pose.matrix)
        return Wish(key, lambda: _keep(session, key, _drawn(session, key, segment, p.mesh, p.size, pose, p.scale)))
    if asset_id.startswith(WAY):
        return _way(session, segment, asset_id.removeprefix(WAY), seen)
    if asset_id not in session.services.library:
        return None
    asset, scale = session.services.library[asset_id], _scale(session, segment.id, asset_id)
    key = digest(seen, asset.digest or asset.id, scale)
    return Wish(key, lambda: _laid(session, key, segment, asset, scale))


@lru_cache(maxsize=64)
def _content(mesh: Path, stamp: str) -> str:
    """Of a mesh as it is while the twin is that of the stamp: a twin made anew may hold the same."""
    return digest(mesh.read_bytes()) if mesh.exists() else stamp


def _way(session: Session, segment: Segment, way: str, seen: str) -> Wish | None:
    """None for a way that there is not, and for a service, which is not asked for a look."""
    described = _described(session).get(segment.id)
    if way not in WAYS or way == "provider" or described is None:
        return None
    key = digest(seen, WAY, way, described.name, described.attributes.size, described.attributes.shape)
    return Wish(key, lambda: _made(session, key, segment, described, way))


def _made(session: Session, key: str, segment: Segment, described: Description, way: str) -> dict[str, Any]:
    project, others = session.project, _others(session, segment)
    folder = project.folder / "cache" / "ways"
    asset, laid = preview(project.frame, project.support, segment, described, way, others, folder)
    facts = _drawn(session, key, segment, asset.mesh, asset.size * laid.scale, laid.pose, laid.scale)
    return _keep(session, key, facts | {"says": asset.provenance})


def _described(session: Session) -> dict[int, Description]:
    known = session.kept("descriptions", "descriptions.json", session.project.descriptions) or ()
    return {one.segment_id: one for one in known}


def _others(session: Session, segment: Segment) -> list[Placement]:
    """What else stands in the twin."""
    scene = session.kept("scene", "scene.json", session.project.scene)
    return [p for p in scene.placements if p.segment_id != segment.id] if scene else []


def _scale(session: Session, id: int, asset_id: str) -> float:
    """Which the matcher gave it, where it is among the candidates."""
    matches = session.kept("matches", "matches.json", session.project.matches) or ()
    mine = next((m for m in matches if m.segment_id == id), None)
    return next((c.scale for c in mine.candidates if c.asset_id == asset_id), 1.0) if mine else 1.0


def _laid(session: Session, key: str, segment: Segment, asset: Asset, scale: float) -> dict[str, Any]:
    project = session.project
    described = _described(session)
    if segment.id not in described:
        raise SceneError("it is not described yet; wait until the objects are")
    frame, support, others = project.frame, project.support, _others(session, segment)
    laid = lay(frame, support, segment, described[segment.id], asset, scale, others, project.folder / "cache", GLANCE)
    facts = _drawn(session, key, segment, asset.mesh, asset.size * laid.scale, laid.pose, laid.scale)
    return _keep(session, key, facts)


def _drawn(
    session: Session,
    key: str,
    segment: Segment,
    mesh: Path,
    size: np.ndarray,
    pose: Pose,
    scale: float,
) -> dict[str, Any]:
    """Draws it and keeps the picture; its facts."""
    frame, support = session.project.frame, session.project.support
    made = candidate.draw(frame, support.world_from_camera, segment.mask, mesh, size, pose)
    with replacing(folder_of(session) / f"{key}.png") as aside:
        Image.fromarray(made.rgba).save(aside, "PNG", compress_level=3)
    return {
        "overlap": round(made.overlap, 4),
        "depth_error": None if made.depth_error is None else round(made.depth_error, 5),
        "scale": round(float(scale), 4),
        "outline": candidate.outline(made.rgba[..., 3] > 128),
    }


def _keep(session: Session, key: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Keeps them, last of all: a reader who finds these finds the picture, too."""
    write_json(folder_of(session) / f"{key}.json", facts)
    return facts


def _asset(session: Session, asset: Asset) -> dict[str, Any]:
    return {
        "asset_id": asset.id,
        "name": asset.name,
        "image": f"/project/{session.token}/card/{asset.id}.png",
        "size": [float(x) for x in asset.size],
    }
