"""The simulated world that a program arranges: objects, their places, zones, containers and goals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mujoco
import numpy as np

from pipeline.geometry import planar_rotation, quat_about_z, rotation_about_z
from pipeline.simulation import bodies, free_space
from pipeline.simulation.cameras import add_cameras
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.objects import KitError, Object, Region, find_object, hull, outline
from pipeline.simulation.physics import TIMESTEP, CompiledWorld, Physics
from pipeline.simulation.recipe import recorded
from pipeline.simulation.robots.gripper.hand import FloatingGripper
from pipeline.simulation.robots.robot import Mount, Robot, cameras_of
from pipeline.simulation.rollout import Run, reward, roll_out
from pipeline.simulation.scene import Scene
from pipeline.simulation.state import State, Zone, find_zone

ZONE_COLOURS = ((240, 200, 60), (90, 170, 250), (240, 120, 110), (120, 210, 130), (190, 140, 240))


@dataclass(frozen=True)
class _Origin:
    """The photographed body that an object comes from, and its scale."""

    source: str
    factor: float = 1.0


@recorded
class Simulation:
    """A twin that is being arranged; after the first rollout it cannot be changed."""

    scene: Scene
    """As photographed."""

    def __init__(self, scene: Scene, seed: int = 0):
        self.scene, self.seed = scene, int(seed)
        self._rng = np.random.default_rng(self.seed)
        self._objects = {o.name: o for o in scene.objects}
        self._origins = {o.name: _Origin(o.name) for o in scene.objects}
        self._carriers = _carriers(scene.objects)
        self._zones: dict[str, Zone] = {}
        self._stages: list[tuple[str, tuple[Goal, ...]]] = []
        self._bench: CompiledWorld | None = None
        self._run: Run | None = None
        self._robot: Robot = scene.robot or FloatingGripper()
        self._mount: Mount | None = None
        self._calls: list[tuple[str, tuple, dict[str, Any]]] | None = []

    @property
    def objects(self) -> tuple[Object, ...]:
        """As now placed."""
        return tuple(self._objects.values())

    @property
    def zones(self) -> Mapping[str, Zone]:
        return dict(self._zones)

    @property
    def origins(self) -> Mapping[str, str]:
        """The photographed object that each object comes from, by name; containers come from none."""
        return {name: origin.source for name, origin in self._origins.items()}

    @property
    def stages(self) -> tuple[tuple[str, tuple[Goal, ...]], ...]:
        """Name and goals of each stage, in order; rows in the order that their key gives for the present places."""
        right, away = self.scene.right, self.scene.away
        return tuple((name, tuple(g.bound(self._objects, right, away) for g in goals)) for name, goals in self._stages)

    def __getitem__(self, name: str) -> Object:
        return find_object(self.objects, name)

    def keep(self, *names: str) -> None:
        """Leave out all objects but these."""
        for name in names:
            self[name]
        self.remove(*(o.name for o in self.objects if o.name not in names))

    def remove(self, *names: str) -> None:
        """Leave these out; what stood on them is lowered to the table."""
        self._require_open()
        for name in names:
            self[name]
        for name in names:
            del self._objects[name]
        for name, carrier in list(self._carriers.items()):
            if carrier in names and name in self._objects:
                self._objects[name] = self._objects[name].moved(z=0.0)

    def copy(self, name: str, new_name: str, xy: Any) -> None:
        """Add a copy that stands on the table at xy."""
        self._require_new_name(new_name)
        if name not in self._origins:
            raise KitError(f"{name!r} was not photographed and cannot be copied; there are: {', '.join(self._origins)}")
        origin = self._origins[new_name] = self._origins[name]
        within = {part.name: part for part in self.scene[origin.source].parts}
        parts = tuple(
            replace(p, joint=f"{new_name}/{within[p.name].joint}", body=f"{new_name}/{within[p.name].body}")
            for p in self[name].parts
        )
        self._objects[new_name] = replace(self[name], name=new_name, parts=parts).moved(_xy(xy), z=0.0)

    def move(self, name: str, xy: Any = None, z: float | None = None, yaw: float | None = None) -> None:
        """Change the start pose; on the table unless z (of its lowest point) is given. Its load moves along."""
        self._require_open()
        before = self[name]
        height = z if z is not None else (0.0 if xy is not None else before.bottom)
        after = before.moved(None if xy is None else _xy(xy), height, yaw)
        self._objects[name] = after
        self._carriers.pop(name, None)
        for rider, carrier in list(self._carriers.items()):
            if carrier == name and rider in self._objects:
                self._ride(rider, before, after)

    def _ride(self, rider: str, before: Object, after: Object) -> None:
        carried, turn = self[rider], after.yaw - before.yaw
        offset = planar_rotation(turn) @ (carried.position[:2] - before.position[:2])
        bottom = carried.bottom + after.bottom - before.bottom
        moved = carried.moved(after.position[:2] + offset, bottom, carried.yaw + turn)
        self._objects[rider] = moved

    def resize(self, name: str, factor: float) -> None:
        """Scale uniformly, to 0.5 to 2 times the photographed size."""
        self._require_open()
        placed = self[name]
        if name not in self._origins:
            raise KitError(f"{name!r} was not photographed: give add_container another size instead")
        if not 0.5 <= factor <= 2:
            raise KitError(f"resize {name!r} by {factor}: the factor may be 0.5 to 2")
        grow = factor / self._origins[name].factor
        self._origins[name] = replace(self._origins[name], factor=float(factor))
        lift, foot = placed.position[2] - placed.bottom, np.array([*placed.position[:2], placed.bottom])
        self._objects[name] = replace(
            placed,
            size=placed.size * grow,
            mass=placed.mass * grow**3,
            position=np.array([*placed.position[:2], placed.bottom + lift * grow]),
            outline=(placed.outline - placed.position[:2]) * grow + placed.position[:2],
            top=placed.bottom + placed.height * grow,
            parts=tuple(part.moved(np.eye(3), (1 - grow) * foot, grow) for part in placed.parts),
            affordances={affordance: point * grow for affordance, point in placed.affordances.items()},
        )

    def set_open(self, name: str, part: str, share: float) -> None:
        """Let a drawer, door, lid or knob start open by a share: 0 shut, 1 fully open."""
        self._require_open()
        if not 0 <= share <= 1:
            raise KitError(f"set_open {name!r} {part!r} to {share}: the share may be 0 (shut) to 1 (wholly open)")
        placed, chosen = self[name], self[name].part(part)
        parts = tuple(p.at(share * p.end) if p is chosen else p for p in placed.parts)
        ground = [placed.outline, *(p.corners[:, :2] for p in parts)]
        self._objects[name] = replace(placed, parts=parts, outline=hull(np.concatenate(ground)))

    def scatter(self, *names: str, gap: float = 0.03, within: str = "", mirrored: bool = False) -> None:
        """Draw new places and yaws from the seed, gap metres apart, on the table. Seed 0: as photographed.

        `within` is a zone in which the centres then lie; `mirrored`: their mirror images are free and in reach, too, if
        such places are drawn. All places are within the robot's reach. On a crowded table the objects move one by one
        into gaps between the others, and one without any stays where it is. So does what stands on a shelf.
        """
        self._require_open()
        zone = find_zone(self._zones, within) if within else None
        largest_first = [
            o.name
            for o in sorted(map(self.__getitem__, names), key=lambda o: -o.reach)
            if not (o.fixed or self.scene.shelf_under(o))
        ]
        mount = self._mounted()
        if self.seed == 0:
            return

        def allowed(points: np.ndarray) -> np.ndarray:
            inside = zone.outside(points) <= 0 if zone else np.ones(len(points), bool)
            return inside & mount.reaches(points) if mount else inside

        before, drawn = (dict(self._objects), dict(self._carriers)), False
        # 30: draws until the mirror images are free, too
        for _ in range(30 if mirrored else 1):
            self._objects, self._carriers = dict(before[0]), dict(before[1])
            drawn = self._scatter_all(largest_first, gap, allowed)
            if drawn and (not mirrored or self._has_free_images(names, gap, allowed)):
                return
        if not drawn:
            self._objects, self._carriers = before
            self._scatter_one_by_one(largest_first, allowed)

    def _has_free_images(self, names: Sequence[str], gap: float, allowed: free_space.Allowed) -> bool:
        others = [o for o in (*self.objects, *self.scene.shelves) if o.name not in names]
        free = partial(free_space.is_free, others=others, table=self.scene.table, gap=gap, allowed=allowed)
        return all(free(self[name], xy) for name, xy in self.mirrored(*names).items())

    def _scatter_all(self, names: list[str], gap: float, allowed: free_space.Allowed) -> bool:
        """Take the objects off the table and draw a place for each; return whether there was one for all."""
        standing = [o for o in self.objects if o.name not in names and self._carriers.get(o.name) not in names]
        standing += self.scene.shelves
        for name in names:
            places = free_space.places_at_any_yaw(self[name], standing, self.scene.table, gap, allowed)
            if not len(places):
                return False
            xy = places[self._rng.integers(len(places))]
            self.move(name, xy, yaw=float(self._rng.uniform(-np.pi, np.pi)))
            standing.append(self[name])
        return True

    def _scatter_one_by_one(self, names: list[str], allowed: free_space.Allowed) -> None:
        """Move one object at a time to where the others leave room; one without a free place stays where it is."""
        for name in names:
            placed, load = self[name], [rider for rider, carrier in self._carriers.items() if carrier == name]
            others = [*(o for o in self.objects if o.name not in (name, *load)), *self.scene.shelves]
            if drawn := free_space.place_between(self._rng, placed, others, self.scene.table, allowed):
                self.move(name, drawn[0], yaw=drawn[1])
            elif not (self._as_photographed(name) or free_space.fits(placed.position[None, :2], placed, others, 0)[0]):
                width = placed.reach * 200
                raise KitError(
                    f"scatter finds no free place of {width:.0f} cm for {name}: keep or scatter fewer objects"
                )

    def _as_photographed(self, name: str) -> bool:
        photographed = {o.name: o for o in self.scene.objects}.get(name)
        return photographed is not None and np.allclose(photographed.position, self[name].position)

    def _mounted(self) -> Mount | None:
        """Return where the robot stands, chosen once for all layouts; None for one that floats."""
        if self._mount is None:
            self._mount = self._robot.mount(self.objects, self.scene.footprint, self.scene.away)
        return self._mount

    def mirrored(self, *names: str) -> dict[str, np.ndarray]:
        """Return by name the place (2,) of each with left and right exchanged about their middle."""
        places = {name: self[name].position[:2] for name in names}
        ahead = [float(xy @ self.scene.right) for xy in places.values()]
        middle = (max(ahead) + min(ahead)) / 2 if ahead else 0.0
        return {n: xy + 2 * (middle - float(xy @ self.scene.right)) * self.scene.right for n, xy in places.items()}

    def circle_around(self, middle: str, *names: str, radius: float | None = None) -> dict[str, np.ndarray]:
        """Return by name the place (2,) of each on a circle around an object, each near where it stands now.

        Neighbours are equally far apart, edge to edge. Without a radius in metres the circle is as small as can be.
        """
        if not names or middle in names:
            raise KitError(f"circle_around({middle!r}, ...) takes the objects that stand around it")
        placed = [self[name] for name in names]
        places, least = free_space.circle_around(self[middle], placed, radius)
        if radius is not None and radius < least - 1e-6:
            raise KitError(
                f"no circle of {radius * 100:.0f} cm around {middle} has room: at least {least * 100:.0f} cm"
            )
        return places

    def free_spot(self, radius: float, near: Any = None, clear_of: Iterable[Any] = ()) -> tuple[float, float]:
        """Return the empty place for a disc of that radius that is nearest to `near`, else to the table's middle.

        It is clear of discs of the same radius at the places `clear_of`, which are still to be filled.
        """
        obstacles = (*self.objects, *self.scene.shelves)
        places = free_space.free_places(self.scene.table, obstacles, float(radius), 0.01)
        for taken in clear_of:
            places = places[np.linalg.norm(places - _xy(taken), axis=1) >= 2 * radius]
        if not len(places):
            raise KitError(f"no free place of {radius * 200:.0f} cm on the table: remove something or ask for less")
        wanted = self.scene.table.centre if near is None else _xy(near)
        x, y = places[np.linalg.norm(places - wanted, axis=1).argmin()]
        return float(x), float(y)

    def add_zone(self, name: str, xy: Any, size: Any) -> None:
        """Add a flat coloured area: a rectangle (along scene.right, along scene.away) or a disc of diameter size."""
        self._require_new_name(name)
        disc = np.ndim(size) == 0
        extents = (float(size), float(size)) if disc else (float(size[0]), float(size[1]))
        if min(extents) <= 0:
            raise KitError(f"zone {name!r} needs a size larger than zero, in metres")
        self._zones[name] = Zone(name, _xy(xy), extents, self.scene.right, disc)

    def add_container(self, name: str, xy: Any, size: Any, height: float = 0.05) -> None:
        """Add a fixed open box, beside the table on a stand; size is its outside (along scene.right, scene.away)."""
        self._require_new_name(name)
        wide, deep = (float(size), float(size)) if np.ndim(size) == 0 else (float(size[0]), float(size[1]))
        if min(wide, deep) < 0.03 or not 0.01 <= height <= 0.5:
            raise KitError(f"container {name!r} needs sides of 3 cm or more and a height of 1 to 50 cm")
        turn = float(np.arctan2(self.scene.right[1], self.scene.right[0]))
        quat = quat_about_z(turn)
        extents, pos = np.array([wide, deep, height]), np.array([*_xy(xy), height / 2])
        rotation = rotation_about_z(turn)
        self._objects[name] = Object(
            name, "bin", "box", "grey", (120, 124, 130), extents, pos, quat, outline(extents, "box", pos, rotation),
            float(height), 0.0, 1.0, container=True, fixed=True,
        )  # fmt: skip

    def goal(self, *goals: Goal, name: str = "") -> None:
        """Add a stage: all these goals at once."""
        self._require_open()
        if not goals or not all(isinstance(g, Goal) for g in goals):
            raise KitError("goal takes one or more goals such as kit.on('a', 'b')")
        for goal in goals:
            for mentioned in goal.objects:
                self[mentioned]
            for owner, part in goal.joints:
                self[owner].part(part)
            for zone in goal.zones:
                find_zone(self._zones, zone)
        self._stages.append((name or f"stage {len(self._stages) + 1}", tuple(goals)))

    def rollout(self) -> Run:
        """Return the oracle's run; computed once."""
        if self._run is None:
            if not self._stages:
                raise KitError("there is nothing to do yet: call sim.goal(...) before sim.rollout()")
            self._run = roll_out(self.bench(), self.stages)
        return self._run

    def reward_at_start(self) -> float:
        """Return the reward before anything moved."""
        state = self._run.state_at_start if self._run else Physics(self.bench()).state()
        return reward(state, self.stages, reached=1)

    def state(self) -> State:
        """Return the state as placed now, before the rollout."""
        return Physics(self.bench()).state()

    def bench(self) -> CompiledWorld:
        """Return the compiled world; afterwards nothing can be rearranged."""
        if self._bench is None:
            self._bench = self._compile()
        return self._bench

    def _require_open(self) -> None:
        if self._bench is not None:
            raise KitError("the simulation has already run: arrange objects and goals in build(scene, seed)")

    def _require_new_name(self, name: str) -> None:
        self._require_open()
        if not (isinstance(name, str) and name.isidentifier()):
            raise KitError(f"{name!r} is no name: use letters, digits and _")
        photographed = {o.name for o in self.scene.objects}  # also where left out: goals about it mean that object
        boards = (board.name for board in (*self.scene.shelves, *self.scene.walls))
        if name in {*self._objects, *self._zones, *photographed, *boards, "table", "floor", "gripper"}:
            raise KitError(f"the name {name!r} is taken; choose another")

    def _compile(self) -> CompiledWorld:
        spec = self.scene.spec.copy()
        for key in list(spec.keys):
            spec.delete(key)
        for name, origin in self._origins.items():
            if origin.source != name and name in self._objects:
                bodies.duplicate(spec, self.scene.spec, origin.source, name)
        for photographed in self.scene.objects:
            if photographed.name not in self._objects:
                spec.delete(spec.body(photographed.name))
        for placed in self.objects:
            self._place(spec, placed)
        for zone, rgb in zip(self._zones.values(), ZONE_COLOURS * 20, strict=False):
            bodies.add_zone_geom(spec, zone, rgb)
        home = self._robot.add(spec, self.objects, self.scene.footprint, self._mounted())
        add_cameras(spec, (*cameras_of(self._robot), *self.scene.cameras))
        spec.option.timestep = TIMESTEP
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        try:
            model = spec.compile()
        except ValueError as error:
            raise KitError(f"MuJoCo cannot build this world: {error}") from error
        scene, xml = self.scene, spec.to_xml()
        objects = self._objects | {shelf.name: shelf for shelf in scene.shelves}
        axes, robot = (scene.right, scene.away), self._robot
        return CompiledWorld(model, xml, objects, self._zones, scene.table, *axes, home, robot, scene.walls)

    def _place(self, spec: mujoco.MjSpec, placed: Object) -> None:
        if placed.name not in self._origins:
            bodies.add_open_box(spec, placed, has_stand=not self.scene.table.contains(placed.position[:2]))
            return
        body = spec.body(placed.name)
        body.pos, body.quat = placed.position, placed.quat_wxyz
        if self._origins[placed.name].factor != 1:
            bodies.scale(spec, body, self._origins[placed.name].factor)


def _carriers(objects: tuple[Object, ...]) -> dict[str, str]:
    """Return the name of the object below, by the name of each object that stands on or in another."""
    carriers = {}
    for a in objects:
        below = [
            b for b in objects
            if b is not a and b.position[2] < a.position[2] and a.bottom < b.top + 0.02 and a.bottom > 0.005
            and Region(b.outline).contains(a.position[:2])
        ]  # fmt: skip
        if below:
            carriers[a.name] = max(below, key=lambda b: b.top).name
    return carriers


def _xy(xy: Any) -> np.ndarray:
    point = np.asarray(xy, float)
    if point.shape != (2,) or not np.isfinite(point).all():
        raise KitError(f"xy is two numbers in metres, such as (0.1, 0.2), not {xy!r}")
    return point
