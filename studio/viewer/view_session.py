"""One open view: a thread that moves its model, a queue of commands, and a snapshot of the newest poses."""

import hashlib
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import cv2
import mujoco
import numpy as np

from studio.accounts.roles import Role, require
from studio.viewer.commands import Command, Contacts, Control, Joint, Push, Seek, Speed, Step, parse_command
from studio.viewer.depth_difference import colourise
from studio.viewer.geometry import free_bodies, movable_joints, moving_bodies, pack
from studio.viewer.motion import Layout, LivePhysics, RecordedMotion, Trajectory, ViewerError, compile_model
from studio.viewer.photo_camera import PhotoCamera, Photograph
from studio.viewer.presentation import HOLD_SECONDS, Mark, Presentation
from studio.viewer.snapshot import encode_snapshot
from studio.web.background import BackgroundTask
from studio.web.errors import error_message

_SLICE = 1 / 120  # seconds of wall clock that the physics runs between two reads of the queue


class ViewSession:
    """Moves a model in a thread for as long as it is watched.

    `enqueue` may be called from any thread: commands are queued and executed between two slices of physics. Watchers
    are notified of a change and read `snapshot` and `status` when they are ready, so that they always get the newest.
    """

    def __init__(
        self,
        model: mujoco.MjModel | Path | str,
        trajectory: Trajectory | None = None,
        photo: Photograph | None = None,
        names: Sequence[str] | None = None,
        marks: Sequence[Mark] = (),
        layout: np.ndarray | None = None,
        focus: Sequence[str] = (),
        grasps: Callable[[str], Sequence[Mapping[str, Any]]] | None = None,
    ):
        """
        Args:
            model: a compiled model, a file of MJCF, or MJCF text.
            trajectory: is replayed instead of running the physics.
            names: bodies that a click selects, without those that the model lacks; None for those with a free joint.
            marks: shown on the timeline.
            layout: qpos, of shape (nq,), of a static scene that is arranged by dragging.
            focus: names of the objects that the camera frames at first, along their paths in the trajectory.
            grasps: returns an object's candidate grasps as {pose, opening, reason}: object-from-gripper as 16 numbers,
                row by row, metres, and why it was dropped. Raises StudioError.
        """
        self.model = compile_model(model)
        named = names and [one for one in names if mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, one) > 0]
        self.names = free_bodies(self.model) if named is None else tuple(named)
        self._photo, self._focus, self.grasps = photo, focus, grasps
        self._camera = (photo and photo.camera) or PhotoCamera.from_model(self.model)
        self.marks = tuple(marks)
        self._motion: LivePhysics | RecordedMotion | Layout = LivePhysics(self.model)
        if layout is not None:
            self._motion = Layout(self.model, layout)
        elif trajectory is not None:
            self._motion = RecordedMotion(self.model, trajectory)
        self._moving = moving_bodies(self.model)
        self._joints = [joint["number"] for joint in movable_joints(self.model, self.names)]
        self._playing, self._speed, self._contacts = False, 1.0, False
        self._remainder = 0.0  # simulated seconds that did not fill a whole step yet
        self._notice, self._notice_count = "", 0
        self._to_hold: Mark | None = None
        self._held: Mark | None = None
        self._held_until = 0.0
        self.measures: bytes | None = None
        """What the timeline shows below its marks, as JSON; None if nothing was measured."""
        self._measures_number = 0
        self._is_steered = False  # by a person, whom a presentation does not disturb
        self._commands: Queue[Command | Presentation] = Queue()
        self._watchers: list[Callable[[], object]] = []
        self.pages: Counter[bool] = Counter()
        """How many pages watch, by whether a visitor's."""
        self._wake, self._lock = threading.Event(), threading.Lock()
        self._closed = False
        self._task: BackgroundTask | None = None
        self.last_used = time.monotonic()
        self._leader: ViewSession | None = None
        self._is_behind = False  # the leader's time has changed
        self._unfollow: Callable[[], object] | None = None
        self._publish()

    def follow(self, leader: "ViewSession") -> None:
        """Let this view's recording follow another view's clock, which commands about time go to from now on."""
        self._leader = leader
        self._unfollow = leader.watch(self._follow_leader)

    # What a watcher reads

    @cached_property
    def geometry(self) -> bytes:
        """The model's shapes, as `geometry.pack` returns them."""
        bodies = [name for name, _ in self.splats]
        photo, filled = self._photo is not None, self._photo and self._photo.filled
        return pack(self.model, self.names, self._camera, photo, self.grasps is not None, bodies, filled)

    @property
    def splats(self) -> Sequence[tuple[str, Callable[[], bytes]]]:
        """The bodies that Gaussian splats draw, each with what returns them."""
        known = self._photo.splats if self._photo else ()
        return [one for one in known if mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, one[0]) >= 0]

    @cached_property
    def geometry_tag(self) -> str:
        """A text that differs between models of different shapes; those of two rounds are often the same."""
        return f'"{hashlib.sha256(self.geometry).hexdigest()[:32]}"'

    @cached_property
    def focus(self) -> np.ndarray | None:
        """Points (N, 3), world, m, that the camera frames at first; None for all objects."""
        return self._motion.points_around(self._focus) if isinstance(self._motion, RecordedMotion) else None

    def poses(self, name: str) -> np.ndarray | None:
        """Return position and quaternion wxyz of a free body over time, of shape (T, 7); None without a recording."""
        return self._motion.poses(name) if isinstance(self._motion, RecordedMotion) else None

    @cached_property
    def photograph(self) -> bytes | None:
        """The photograph as a picture file, or None."""
        if self._photo is None:
            return None
        if isinstance(self._photo.image, Path):
            return self._photo.image.read_bytes()
        return cv2.imencode(".png", cv2.cvtColor(self._photo.image, cv2.COLOR_RGB2BGR))[1].tobytes()

    @cached_property
    def depth_difference(self) -> bytes | None:
        """The difference in depth of twin and photograph as a PNG to show over the photograph, or None."""
        measure = self._photo and self._photo.depth_difference
        return colourise(measure()) if measure else None

    @property
    def snapshot(self) -> bytes:
        """The newest poses, as `snapshot.encode_snapshot` returns them."""
        return self._snapshot

    @property
    def status(self) -> str:
        """The part of the state that changes rarely, as JSON text."""
        return self._status

    @property
    def playing(self) -> bool:
        return self._playing

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self._motion.time

    @property
    def dragged_positions(self) -> dict[str, tuple[float, float]]:
        """World x and y in metres, by name, of the objects that were dragged in a layout."""
        return self._motion.dragged_positions if isinstance(self._motion, Layout) else {}

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def watch(self, on_change: Callable[[], object]) -> Callable[[], None]:
        """Call `on_change` from the view's thread at every new snapshot; return a function that ends that."""
        with self._lock:
            if self._closed:
                raise ViewerError("This view was closed. Open it again from the project.")
            self._watchers.append(on_change)
            if self._task is None:
                self._task = BackgroundTask("viewer", self._run, wake=self._wake.set).start()
        self._wake.set()
        return lambda: self._unwatch(on_change)

    def _unwatch(self, on_change: Callable[[], object]) -> None:
        with self._lock:
            self._watchers.remove(on_change)
        self.last_used = time.monotonic()

    def enqueue(self, message: Mapping[str, Any] | str) -> None:
        """Queue a command of `commands`.

        Raises ViewerError for one that makes no sense for this view, RoleError for one that the person may not send.
        """
        command = parse_command(message)
        if isinstance(command, Push | Joint):
            require(Role.WORK)
        if self._leader and isinstance(command, Control | Step | Speed | Seek):
            return self._leader.enqueue(message)
        self._check(command)
        if self._commands.qsize() > 256:
            if command.op == "push":
                return  # too many mouse moves; a newer one will come
            raise ViewerError("The viewer is still busy with earlier commands; try again in a moment.")
        self._commands.put(command)
        self._wake.set()
        return None

    def _follow_leader(self) -> None:
        """Go to the time that the leader has when this view's thread comes to it."""
        self._is_behind = True
        self._wake.set()

    def present(self, presentation: Presentation) -> None:
        """Play the recording from where it is, or from the mark to hold at if that has passed.

        A person who has moved it already is not disturbed: only the marks change, unless it has a start.
        """
        self._commands.put(presentation)
        self._wake.set()

    def _check(self, command: Command) -> None:
        match command:
            case Push(body=body):
                if isinstance(self._motion, RecordedMotion):
                    raise ViewerError("This is a recording, which cannot be pushed. Open the scene to push objects.")
                if body not in self._moving:
                    raise ViewerError("That body is fixed. Push one of the objects.")
            case Joint(number=number):
                if isinstance(self._motion, RecordedMotion):
                    raise ViewerError("This is a recording, whose joints cannot be moved. Open the scene to move them.")
                if number not in self._joints:
                    raise ViewerError("That is not a joint of an object. Select an object with joints.")

    def close(self) -> None:
        """End the thread. Watchers are notified a last time."""
        self._closed = True
        if self._unfollow:
            self._unfollow()
            self._unfollow = None
        self._wake.set()
        if self._task is not None:
            self._task.join(timeout=2)

    @property
    def closed(self) -> bool:
        return self._closed

    # The thread

    def _run(self, stop: threading.Event) -> None:
        next_snapshot = before = time.perf_counter()
        while not (self._closed or stop.is_set()):
            changed = self._execute_commands()
            now = time.perf_counter()
            if self._held and now >= self._held_until:
                self._end_hold()
                changed = True
            if self._playing and self._watchers and not self._held:
                self._advance(min(now - before, 0.05))
                changed = True
            before = now
            self._outdated = self._outdated or changed
            if self._outdated and (now >= next_snapshot or self._leader):  # a leader has waited already
                self._publish()
                # Snapshots a second
                next_snapshot = max(next_snapshot + 1 / 30, now)
            spent = time.perf_counter() - now
            idle = not (self._playing and self._watchers)
            if idle and not self._outdated:
                self._wake.wait()
            elif spent < _SLICE:
                self._wake.wait(_SLICE - spent)
            self._wake.clear()
        self._notify_watchers()

    def _advance(self, elapsed: float) -> None:
        """Advance by the elapsed wall-clock time, as far as one slice of computing allows."""
        wanted, deadline = elapsed * self._speed + self._remainder, time.perf_counter() + 1.5 * _SLICE
        step = self.model.opt.timestep
        try:
            if isinstance(self._motion, RecordedMotion):
                self._motion.advance(wanted)
                self._hold_where_due(self._motion)
                wanted = 0.0
            while wanted >= step and time.perf_counter() < deadline:
                chunk = min(wanted, 16 * step)
                start = self._motion.time
                self._motion.advance(chunk)
                wanted -= self._motion.time - start
        except ViewerError as error:
            self._playing, wanted = False, 0.0
            self._set_notice(str(error))
        self._remainder = wanted if wanted < step else 0.0
        if isinstance(self._motion, RecordedMotion) and self._motion.finished and not self._held:
            self._playing = False

    def _hold_where_due(self, motion: RecordedMotion) -> None:
        """Go back to the mark to hold at if it was passed, and hold there."""
        if self._to_hold and motion.time >= min(self._to_hold.time, motion.span[1]):
            motion.seek(self._to_hold.time)
            self._held, self._to_hold = self._to_hold, None
            self._held_until = time.perf_counter() + HOLD_SECONDS

    def _end_hold(self) -> None:
        """Play on after a hold; at the end of a recording, the words of the mark stay."""
        if isinstance(self._motion, RecordedMotion) and self._motion.finished:
            self._held_until, self._playing = math.inf, False
        else:
            self._held = None

    def _execute_commands(self) -> bool:
        """Execute the queued commands and follow the leader; return whether there was anything to do."""
        executed = False
        if self._leader and self._is_behind:
            self._is_behind, executed = False, True
            self._execute(Seek(op="seek", time=self._leader.time))
        while True:
            try:
                command = self._commands.get_nowait()
            except Empty:
                return executed
            executed = True
            try:
                self._execute(command)
            except ViewerError as error:
                self._set_notice(str(error))
            except Exception as error:  # a fault of ours must not end the view of all who watch
                self._set_notice(error_message(error))

    def _execute(self, command: Command | Presentation) -> None:
        motion = self._motion
        is_release = isinstance(command, Control) and command.op == "release"  # sent when a page is left
        if not (is_release or isinstance(command, Presentation | Speed | Contacts)):
            self._to_hold, self._held, self._is_steered = None, None, True
        match command:
            case Presentation(measures=measures, start=start):
                self.marks = command.marks
                if measures is not None:
                    self.measures, self._measures_number = json.dumps(measures).encode(), self._measures_number + 1
                self._is_steered = self._is_steered and start is None
                if not self._is_steered:
                    self._present(command)
            case Control(op="play"):
                if isinstance(motion, RecordedMotion) and motion.finished:
                    motion.reset()
                self._playing = not isinstance(motion, Layout)
            case Control(op="pause"):
                self._playing = False
            case Control(op="reset"):
                self._playing, self._remainder = False, 0.0
                motion.reset()
            case Control(op="release"):
                if not isinstance(motion, RecordedMotion):
                    motion.release()
            case Step(count=count):
                self._playing = False
                motion.step(count)
            case Speed(value=value):
                self._speed = value
            case Seek(time=time, is_relative=is_relative):
                self._playing = False
                motion.seek(motion.time + time if is_relative else time)
            case Contacts(on=on):
                self._contacts = on
            case Push() if not isinstance(motion, RecordedMotion):
                motion.push(command.body, np.array(command.point), np.array(command.target))
                self._playing = isinstance(motion, LivePhysics)
            case Joint() if not isinstance(motion, RecordedMotion):
                motion.articulate(command.number, command.value)

    def _present(self, wanted: Presentation) -> None:
        hold, plays, end = wanted.hold, wanted.plays, self._motion.span[1]
        if wanted.start is not None:
            self._motion.seek(wanted.start)
        elif not plays:
            self._motion.seek(hold.time if hold else end)
        self._to_hold, self._held, self._held_until = (hold, None, 0.0) if plays else (None, hold, math.inf)
        self._playing = plays and (bool(hold) or self._motion.time < end)

    def _set_notice(self, text: str) -> None:
        self._notice, self._notice_count = text, self._notice_count + 1

    # What is sent

    def _publish(self) -> None:
        data = self._motion.data
        self._snapshot = encode_snapshot(self._motion, self._moving, self._contacts)
        status = {
            "type": "status",
            "playing": (self._leader or self)._playing,
            "speed": (self._leader or self)._speed,
            "contacts": self._contacts,
            "recording": self._motion.recorded,
            "layout": isinstance(self._motion, Layout),
            "timestep": self.model.opt.timestep,
            "joints": data.qpos[self.model.jnt_qposadr[self._joints]].round(4).tolist() if self._joints else [],
            "marks": [asdict(mark) for mark in self.marks],
            "measures": self._measures_number,
            "held": self._held and asdict(self._held),
            "presenting": self._to_hold is not None or bool(self._held and self._held_until < math.inf),
            "clock_end": max(self._motion.span[1], self._leader._motion.span[1] if self._leader else 0.0),
            "notice": {"number": self._notice_count, "text": self._notice},
        }
        self._status = json.dumps(status)
        self._outdated = False
        self._notify_watchers()

    def _notify_watchers(self) -> None:
        for on_change in tuple(self._watchers):
            on_change()
