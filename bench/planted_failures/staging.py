"""An environment for one planted episode, and the oracle's demonstrations that a script spoils there."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.closed_loop.interfaces.robot_state import RobotState
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.package import demonstrate, write_layout
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS, TwinWorld
from pipeline.simulation import kit
from pipeline.simulation.free_space import grid
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.run_record import RunRecord
from pipeline.store import write_json

Change = Callable[[kit.Simulation], None]
ROOM_M = 0.06
"""Radius of a free place that something is put on."""


class UnplantedError(Exception):
    """An episode in which a script cannot do what its label says."""


@dataclass(frozen=True)
class Planted:
    """One planted episode."""

    id: str
    scene: str
    robot: str
    layout: int
    move: tuple[tuple[str, str], ...]
    """Objects that the task is about, each with where it belongs: "on X", "in X", or "at" for a free place."""
    script: str
    """How it fails, a function of scripts.py."""
    label: str
    """Its class, written down before the classifier ran."""
    aside: bool
    """Whether it was looked at only at the end."""


class Staged:
    """The environment of a planted episode."""

    def __init__(self, planted: Planted, project: Path, folder: Path):
        self.planted, self.folder = planted, folder
        self._scene = replace(kit.Scene.load(project), robot=robot_kind(planted.robot).make(True))
        self.random = np.random.default_rng(planted.layout)
        self._write(project)
        self.env = TwinEnv(folder=folder)
        self.world: TwinWorld
        self.target, _ = planted.move[0]
        self.seconds = 0.0
        """Simulated, of the episode at most; a script sets it."""

    def _write(self, project: Path) -> None:
        (self.folder / "layouts").mkdir(parents=True)
        shutil.copytree(project / "scene", self.folder / "scene")
        self.sim = sim = self.arranged()
        sim.goal(*(self.goal(name, where) for name, where in self.planted.move))
        data = Physics(sim.bench()).data
        write_layout(sim, sim.bench().xml, data.qpos, data.ctrl, self.folder)
        write_json(self.folder / "task.json", {"instruction": str(self.planted.move)})
        write_json(self.folder / "layouts.json", {"seeds": [self.planted.layout], "robot": self.planted.robot})

    def arranged(self) -> kit.Simulation:
        """Return the layout, without goals."""
        sim = kit.Simulation(self._scene, self.planted.layout)
        sim.scatter(*(o.name for o in sim.objects if not o.fixed))
        return sim

    def goal(self, name: str, where: str) -> kit.Goal:
        """Return the goal of an object; "at" is a free place, far from the object."""
        kind, _, holder = where.partition(" ")
        if kind != "at":
            return {"on": kit.on, "in": kit.inside}[kind](name, holder)
        return kit.at(name, self.free_place(name, 0.15))

    def free_place(self, name: str, distance: float) -> np.ndarray:
        """Return a free place (2,) on the table at least so far from an object and, else, near it."""
        sim = self.arranged()
        start = sim[name].position[:2]
        places = grid(sim.scene.table)
        for place in places[np.argsort(np.linalg.norm(places - start, axis=1))]:
            if np.linalg.norm(place - start) >= distance and self.is_free(place, max(ROOM_M, sim[name].radius + 0.02)):
                return place
        raise UnplantedError(f"no free place for {name}")

    def is_free(self, place: np.ndarray, radius: float) -> bool:
        """Whether a disc on the table touches no object."""
        sim = self.arranged()
        gaps = [np.linalg.norm(place - o.position[:2]) - o.radius for o in sim.objects]
        return sim.scene.table.contains(place, margin=radius) and min(gaps) > radius

    def demonstration(self, change: Change | None = None, *goals: kit.Goal) -> np.ndarray:
        """Return the oracle's actions (T, A), for other goals or in a changed layout where these are given.

        They are the oracle's commands there, as actions of this environment. Raises UnplantedError where the oracle
        fails.
        """
        sim = self.arranged()
        if change:
            change(sim)
        sim.goal(*(goals or [self.goal(name, where) for name, where in self.planted.move]))
        run = sim.rollout()
        if not run.solved:
            raise UnplantedError(f"the oracle fails: {run.why}")
        record = RunRecord(run.times, run.qpos, run.actions, xml=run.xml)
        actions, _ = demonstrate(TwinWorld(self.folder, self.planted.layout), record)
        return actions

    # ------------------------------------------------------------------ what a script sees while it acts

    def begin(self) -> None:
        """Read where everything is at the start of the episode."""
        self.world = self.env.world
        self.robot = RobotState(self.world)
        self._starts = {name: pose[:3].copy() for name, pose in self.world.objects().items()}

    def tool(self) -> np.ndarray:
        """Return the world position (3,) of the tool."""
        return self.robot.base + self.robot.base_rotation @ self.robot.tool()[0]

    def sent_to(self) -> np.ndarray:
        """Return the world position (3,) to which the tool is commanded."""
        return self.robot.base + self.robot.base_rotation @ self.robot.tool(self.robot.commanded())[0]

    def place(self, name: str) -> np.ndarray:
        return self.world.objects()[name][:3]

    def rise(self, name: str) -> float:
        """Return by how much an object is above its start, in metres."""
        return float(self.place(name)[2] - self._starts[name][2])

    def shift(self, name: str) -> float:
        """Return how far an object is from its start, in metres."""
        return float(np.linalg.norm(self.place(name) - self._starts[name]))

    def touches(self, name: str) -> bool:
        """Whether the robot touches an object."""
        model, data = self.world.model, self.world.data
        tree = model.body_rootid[model.geom_bodyid]
        own, robot = model.body_rootid[model.body(name).id], model.body_rootid[model.body("gripper").id]
        return any({own, robot} == {*map(int, pair)} for pair in tree[data.contact.geom])

    def start(self, name: str) -> np.ndarray:
        return self._starts[name]

    def now(self) -> float:
        """Return simulated seconds."""
        return float(self.world.data.time)

    def is_closed(self) -> bool:
        """Whether the gripper is commanded to close."""
        state = self.robot.commanded()
        return all(self.robot.closed_share(number, state[number]) > 0.5 for number in self.robot.grippers)

    def first(self, actions: np.ndarray, holds: Callable[[], bool]) -> int:
        """Return after how many actions of a demonstration something is so; the world is put back to the start."""
        kept, beginning = self.world, TwinWorld(self.folder, self.planted.layout)
        self.world, self.robot = beginning, RobotState(beginning)
        try:
            for number, action in enumerate(actions):
                if holds():
                    return number
                beginning.step(action)
        finally:
            self.world, self.robot = kept, RobotState(kept)
        raise UnplantedError("the demonstration ended before that was so")

    def grasp_of(self, actions: np.ndarray) -> tuple[int, float, int]:
        """Return the first action after which the gripper closes, the tool's height then, and when it is 3 cm higher.

        Raises UnplantedError.
        """
        found: list[float] = []

        def closed() -> bool:
            return self.is_closed() and self.has(self.target) and not found.append(self.tool()[2])

        begin = self.first(actions, closed)
        end = self.first(actions, lambda: self.rise(self.target) > 0.03)
        return begin, found[-1], end

    def is_free_of_others(self, name: str, by: np.ndarray) -> bool:
        """Whether an object would stand apart from all others if it were moved by (2,) metres."""
        sim = self.arranged()
        place, radius = sim[name].position[:2] + by, sim[name].radius
        gaps = [np.linalg.norm(place - o.position[:2]) - o.radius for o in sim.objects if o.name != name]
        return sim.scene.table.contains(place, margin=radius) and min(gaps, default=1.0) > radius + 0.01

    def has(self, name: str) -> bool:
        """Whether the robot touches an object, or its suction holds it; it does so from up to 4 mm away."""
        return self.touches(name) or self.world.held == name

    @property
    def others(self) -> list[str]:
        """Objects that the task is not about."""
        named = {word for name, where in self.planted.move for word in (name, *where.split())}
        return [o.name for o in self.sim.objects if o.name not in named and not o.fixed]


# ---------------------------------------------------------------------- actions


def gripper(stage: Staged, action: np.ndarray, share: float) -> np.ndarray:
    """Return an action with the gripper opened (0) or closed (1)."""
    state = stage.robot.commanded()
    for number in stage.robot.grippers:
        state[number] = stage.robot.gripper_value(number, share)
    changed = action.copy()
    changed[stage.robot.grippers] = stage.world.action(stage.robot.commands(state))[stage.robot.grippers]
    return changed


def still(stage: Staged) -> np.ndarray:
    """Return the action that leaves everything as it is commanded."""
    return stage.world.action(stage.world.data.ctrl.copy())


def wait(stage: Staged, seconds: float) -> Iterator[np.ndarray]:
    for _ in range(round(seconds / CONTROL_SECONDS)):
        yield still(stage)


def go(stage: Staged, point: np.ndarray, speed: float = 0.25) -> Iterator[np.ndarray]:
    """Move the tool to a world position (3,) in a straight line, with the gripper as it is."""
    state, at = stage.robot.commanded(), stage.tool()
    count = max(1, int(np.ceil(np.linalg.norm(point - at) / (speed * CONTROL_SECONDS))))
    for _ in range(count):
        step = stage.robot.base_rotation.T @ (point - at) / count
        state = stage.robot.moved_tool(state, step, np.zeros(3))
        yield stage.world.action(stage.robot.commands(state))
