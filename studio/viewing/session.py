"""One model being watched: a thread that moves it, a queue of wishes, and always the newest picture."""

import json
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import cv2
import mujoco
import numpy as np

from studio.viewing.difference import painted
from studio.viewing.geometry import free_bodies, moving_bodies, pack
from studio.viewing.joints import joints_of
from studio.viewing.motion import Layout, Physics, Recording, Trajectory, ViewerError
from studio.viewing.photo_camera import PhotoCamera

PICTURES_A_SECOND = 30
_MOST_WISHES = 256
_MOST_CONTACTS = 100
_SLICE = 1 / 120  # seconds of wall clock that the physics runs between two looks at the queue


@dataclass(frozen=True)
class Mark:
    """Something on the timeline."""

    time: float
    """Seconds."""
    text: str
    kind: str = "event"
    """"event" or "failed"."""


class SimSession:
    """Moves a model in a thread of its own for as long as somebody watches.

    `wish` may be called from anywhere: wishes are queued and done between two slices of physics. A watcher is told
    that there is news and fetches `picture` and `status` when it is ready for them, so that the newest always wins.
    """

    def __init__(
        self,
        model: mujoco.MjModel | Path | str,
        trajectory: Trajectory | None = None,
        photo: Path | np.ndarray | None = None,
        camera: PhotoCamera | None = None,
        names: Sequence[str] | None = None,
        marks: Sequence[Mark] = (),
        layout: np.ndarray | None = None,
        difference: Callable[[], np.ndarray] | None = None,
    ):
        """
        Args:
            model: a compiled model, a file of MJCF, or MJCF text.
            trajectory: replayed instead of running the physics.
            photo: the photograph, a picture file or of shape (H, W, 3), uint8, RGB.
            camera: the photograph's; the model's camera "photo" where None.
            names: bodies that a click selects; those with a free joint where None.
            marks: shown on the timeline.
            layout: poses, of shape (nq,), that stand still and are rearranged by dragging.
            difference: gives the metres by which the twin lies behind what was measured, of shape (h, w), NaN unknown.
        """
        self.model = _compiled(model)
        self.names = free_bodies(self.model) if names is None else tuple(names)
        self._difference = difference
        self._photo, self._camera = photo, camera or PhotoCamera.of_model(self.model)
        self.marks = tuple(marks)
        self._motion: Physics | Recording | Layout = Physics(self.model)
        if layout is not None:
            self._motion = Layout(self.model, layout)
        elif trajectory is not None:
            self._motion = Recording(self.model, trajectory)
        self._moving = moving_bodies(self.model)
        self._joints = [joint["number"] for joint in joints_of(self.model, self.names)]
        self._playing, self._speed, self._contacts = False, 1.0, False
        self._owed = 0.0  # simulated seconds that did not fill a whole step yet
        self._notice, self._notices = "", 0
        self._wishes: Queue[Mapping[str, Any]] = Queue()
        self._watchers: list[Callable[[], object]] = []
        self._news, self._lock = threading.Event(), threading.Lock()
        self._closed, self._thread = False, None
        self.last_used = time.monotonic()
        self._publish()

    # What a watcher sees

    @cached_property
    def geometry(self) -> bytes:
        """The model's shapes (see geometry.pack)."""
        return pack(self.model, self.names, self._camera, self._photo is not None)

    @cached_property
    def photograph(self) -> bytes | None:
        """The photograph's file, or None where there is none."""
        if isinstance(self._photo, Path):
            return self._photo.read_bytes()
        if self._photo is None:
            return None
        return cv2.imencode(".png", cv2.cvtColor(self._photo, cv2.COLOR_RGB2BGR))[1].tobytes()

    @cached_property
    def difference(self) -> bytes | None:
        """Twin against photograph in depth, as a PNG to lay over the photograph; None where nobody measured."""
        return None if self._difference is None else painted(self._difference())

    @property
    def picture(self) -> bytes:
        """The newest instant, little-endian.

        float64 time, begin and end of what can be sought, uint32 bodies, uint32 contacts; then per moving body
        float32 position (3) and quaternion wxyz (4), per contact float32 position (3) and force in N (3).
        """
        return self._picture

    @property
    def status(self) -> str:
        """What changes rarely, as JSON text."""
        return self._status

    @property
    def playing(self) -> bool:
        return self._playing

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self._motion.time

    @property
    def places(self) -> dict[str, tuple[float, float]]:
        """World x and y in metres, by name, of what a person dragged elsewhere in a layout."""
        return self._motion.places if isinstance(self._motion, Layout) else {}

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def watch(self, news: Callable[[], object]) -> Callable[[], None]:
        """Calls `news` from the session's thread at every new picture, until what is returned is called."""
        with self._lock:
            if self._closed:
                raise ViewerError("This view was closed. Open it again from the project.")
            self._watchers.append(news)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="viewer", daemon=True)
                self._thread.start()
        self._news.set()
        return lambda: self._unwatch(news)

    def _unwatch(self, news: Callable[[], object]) -> None:
        with self._lock:
            self._watchers.remove(news)
        self.last_used = time.monotonic()

    def wish(self, wish: Mapping[str, Any]) -> None:
        """Queues {"op": ...}: play, pause, reset, release, step {count}, speed {value}, seek {time}, contacts {on},
        push {body, point (3) in the body's axes, target (3) in the world}, joint {number, value in radians or metres}.
        Wrong ones end as a notice in `status`."""
        if self._wishes.qsize() > _MOST_WISHES and wish.get("op") == "push":
            return  # a flood of mouse moves: a newer one will come
        self._wishes.put(wish)
        self._news.set()

    def close(self) -> None:
        """Ends the thread. Watchers are told a last time."""
        self._closed = True
        self._news.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=2)

    @property
    def closed(self) -> bool:
        return self._closed

    # The thread

    def _run(self) -> None:
        next_picture = before = time.perf_counter()
        while not self._closed:
            changed = self._grant_wishes()
            now = time.perf_counter()
            if self._playing and self._watchers:
                self._advance(min(now - before, 0.05))
                changed = True
            before = now
            self._stale = self._stale or changed
            if self._stale and now >= next_picture:
                self._publish()
                next_picture = max(next_picture + 1 / PICTURES_A_SECOND, now)
            spent = time.perf_counter() - now
            idle = not (self._playing and self._watchers)
            if idle and not self._stale:
                self._news.wait()
            elif spent < _SLICE:
                self._news.wait(_SLICE - spent)
            self._news.clear()
        self._tell()

    def _advance(self, elapsed: float) -> None:
        """Moves by what passed on the wall, as far as one slice of computing allows."""
        wanted, deadline = elapsed * self._speed + self._owed, time.perf_counter() + 1.5 * _SLICE
        step = self.model.opt.timestep
        try:
            if isinstance(self._motion, Recording):
                self._motion.advance(wanted)
                wanted = 0.0
            while wanted >= step and time.perf_counter() < deadline:
                chunk = min(wanted, 16 * step)
                start = self._motion.time
                self._motion.advance(chunk)
                wanted -= self._motion.time - start
        except ViewerError as error:
            self._playing, wanted = False, 0.0
            self._say(str(error))
        self._owed = wanted if wanted < step else 0.0
        if isinstance(self._motion, Recording) and self._motion.finished:
            self._playing = False

    def _grant_wishes(self) -> bool:
        granted = False
        while True:
            try:
                wish = self._wishes.get_nowait()
            except Empty:
                return granted
            granted = True
            try:
                self._grant(wish)
            except ViewerError as error:
                self._say(str(error))
            except (KeyError, TypeError, ValueError) as error:
                self._say(
                    f"The viewer did not understand {str(dict(wish))[:80]} ({type(error).__name__}); reload the page."
                )

    def _grant(self, wish: Mapping[str, Any]) -> None:
        match wish["op"]:
            case "play":
                if isinstance(self._motion, Recording) and self._motion.finished:
                    self._motion.reset()
                self._playing = not isinstance(self._motion, Layout)
            case "pause":
                self._playing = False
            case "step":
                self._playing = False
                self._motion.step(min(max(int(wish.get("count", 1)), 1), 1000))
            case "reset":
                self._playing, self._owed = False, 0.0
                self._motion.reset()
            case "speed":
                self._speed = float(np.clip(float(wish["value"]), 0.05, 1000))
            case "seek":
                self._playing = False
                self._motion.seek(_finite(wish["time"], ()).item())
            case "push":
                self._push(wish)
            case "release":
                if not isinstance(self._motion, Recording):
                    self._motion.release()
            case "joint":
                self._articulate(wish)
            case "contacts":
                self._contacts = bool(wish["on"])
            case other:
                raise ValueError(other)

    def _push(self, wish: Mapping[str, Any]) -> None:
        if isinstance(self._motion, Recording):
            raise ViewerError("A recording plays here, it cannot be pushed. Open the scene itself to push things.")
        body = int(wish["body"])
        if body not in self._moving:
            raise ViewerError("That stands fixed. Push one of the objects.")
        self._motion.push(body, _finite(wish["point"], (3,)), _finite(wish["target"], (3,)))
        self._playing = isinstance(self._motion, Physics)

    def _articulate(self, wish: Mapping[str, Any]) -> None:
        if isinstance(self._motion, Recording):
            raise ViewerError("A recording plays here, its joints cannot be moved. Open the scene itself to move them.")
        joint = int(wish["number"])
        if joint not in self._joints:
            raise ViewerError("That is no joint of an object. Select a thing with joints.")
        self._motion.articulate(joint, _finite(wish["value"], ()).item())

    def _say(self, text: str) -> None:
        self._notice, self._notices = text, self._notices + 1

    # What is sent

    def _publish(self) -> None:
        data, contacts = self._motion.data, self._contact_rows()
        mujoco.mj_kinematics(self.model, data)  # mj_step leaves the poses of before its last step
        poses = np.hstack([data.xpos[self._moving], data.xquat[self._moving]]).astype("<f4")
        head = struct.pack("<dddII", self._motion.time, *self._motion.span, len(poses), len(contacts))
        self._picture = head + poses.tobytes() + contacts.tobytes()
        status = {
            "type": "status",
            "playing": self._playing,
            "speed": self._speed,
            "contacts": self._contacts,
            "recording": self._motion.recorded,
            "layout": isinstance(self._motion, Layout),
            "timestep": self.model.opt.timestep,
            "joints": data.qpos[self.model.jnt_qposadr[self._joints]].round(4).tolist() if self._joints else [],
            "marks": [asdict(mark) for mark in self.marks],
            "notice": {"number": self._notices, "text": self._notice},
        }
        self._status = json.dumps(status)
        self._stale = False
        self._tell()

    def _contact_rows(self) -> np.ndarray:
        data, rows, force = self._motion.data, [], np.zeros(6)
        for i in range(min(data.ncon, _MOST_CONTACTS) if self._contacts else 0):
            contact = data.contact[i]
            mujoco.mj_contactForce(self.model, data, i, force)
            first, second = self.model.geom_bodyid[contact.geom]
            # On the later body, as MuJoCo draws it. A recording holds poses, not forces.
            sign = 0 if self._motion.recorded else 1 if first < second else -1
            rows.append(np.concatenate([contact.pos, sign * contact.frame.reshape(3, 3).T @ force[:3]]))
        return np.array(rows, "<f4").reshape(-1, 6)

    def _tell(self) -> None:
        for news in tuple(self._watchers):
            news()


def _finite(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values, float)
    if array.shape != shape or not np.isfinite(array).all() or np.abs(array).max(initial=0) > 1e4:
        raise ValueError(f"expected finite numbers of shape {shape}")
    return array


def _compiled(model: mujoco.MjModel | Path | str) -> mujoco.MjModel:
    if isinstance(model, mujoco.MjModel):
        return model
    try:
        if isinstance(model, Path):
            return mujoco.MjModel.from_xml_path(str(model))
        return mujoco.MjModel.from_xml_string(model)
    except ValueError as error:
        name = model.name if isinstance(model, Path) else "The model"
        reason = " ".join(str(error).split())
        raise ViewerError(f"{name} cannot be shown: MuJoCo says: {reason}. Build the scene again.") from error
