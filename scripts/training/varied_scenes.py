"""Builds random scenes for training: a ground with or without walls, furniture around it, and objects that settle."""

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import mujoco
import numpy as np

from pipeline.assets.solids import texture_visual
from scripts.training.surface_textures import random_surface
from scripts.training.varied_objects import RandomObject, random_container, random_object

OBJECT_GROUP, CLEAR_GROUP = 0, 2
"""Groups of MuJoCo's geoms: what is always drawn, and clear objects."""
COLLISION_GROUP = 4
"""Group of collision shapes, which are never drawn."""


@dataclass
class VariedScene:
    """A scene while it is built. Surfaces are named by their label: ground, wall or other."""

    random: np.random.Generator
    spec: mujoco.MjSpec = field(default_factory=mujoco.MjSpec)
    half: np.ndarray = field(default_factory=lambda: np.array([0.4, 0.3]))
    """Half the sides of the area in which objects stand, in metres."""
    levels: tuple[tuple[float, float, float], ...] = ((0.0, 0.0, 0.0),)
    """Centres (x, y, z) of the surfaces on which objects stand."""
    drop: float = 0.0
    """Metres above the ground from which objects fall."""
    objects: list[RandomObject] = field(default_factory=list)
    ground_colour: np.ndarray = field(default_factory=lambda: np.full(3, 128.0))
    surfaces: int = 0
    held: tuple[int, np.ndarray] | None = None
    """Number of an object that a hand holds, and where, of shape (3,)."""

    def add_surface(
        self, label: str, size: np.ndarray, pos: np.ndarray, quat: np.ndarray | None = None, material: str = ""
    ) -> str:
        """Add a box with half sides `size`, with a new random texture unless `material` is named; return the name."""
        self.surfaces += 1
        name = f"{label}:{self.surfaces}"
        material = material or self.add_material(name, random_surface(self.random), label == "ground")
        geom = self.spec.worldbody.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=pos)
        geom.material, geom.friction = material, [0.9, 0.01, 0.001]
        if quat is not None:
            geom.quat = quat
        return material

    def add_material(self, name: str, image: np.ndarray, is_ground: bool = False) -> str:
        """Add a material with a texture (h, w, 3), uint8; return its name."""
        self.spec.assets |= {f"{name}.png": cv2.imencode(".png", image[..., ::-1], [16, 1])[1].tobytes()}
        self.spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{name}.png")
        gloss = float(self.random.uniform(0, 0.5) ** 2)
        material = self.spec.add_material(name=name, specular=gloss, shininess=float(self.random.uniform(0.1, 0.9)))
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
        if is_ground:
            self.ground_colour = image.reshape(-1, 3).mean(0)
            material.texrepeat = [float(self.random.choice([1, 1, 2, 3]))] * 2
            material.reflectance = float(self.random.choice([0, 0, 0, 0.1]))
        return name

    def add_object(self, one: RandomObject, pos: np.ndarray, quat: np.ndarray) -> None:
        """Add a free object."""
        self.objects.append(one)
        name = f"object:{len(self.objects)}"
        mesh = self.spec.add_mesh(name=name, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
        mesh.uservert, mesh.userface = one.solid.mesh.vertices.ravel(), one.solid.mesh.faces.ravel()
        uv = np.asarray(texture_visual(one.solid.mesh).uv).copy()
        uv[:, 1] = 1 - uv[:, 1]
        mesh.usertexcoord, mesh.userfacetexcoord = uv.ravel(), one.solid.mesh.faces.ravel()
        image = texture_visual(one.solid.mesh).material.image.convert("RGB")
        image.thumbnail((384, 384))
        self.add_material(name, np.asarray(image))
        material = self.spec.material(name)
        material.specular, material.shininess = (0.9, 0.9) if one.shiny or one.clear else (0.15, 0.3)
        body = self.spec.worldbody.add_body(name=name, pos=pos, quat=quat)
        body.add_freejoint()
        extents = one.solid.mesh.extents
        body.explicitinertial, body.mass = True, 0.1
        body.inertia = np.maximum(0.1 / 12 * np.array([extents[[1, 2]] @ extents[[1, 2]], extents[[0, 2]]
                                  @ extents[[0, 2]], extents[[0, 1]] @ extents[[0, 1]]]), 2e-5)  # fmt: skip
        group = CLEAR_GROUP if one.clear else OBJECT_GROUP
        body.add_geom(name=f"{name}:look", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, material=name,
                      contype=0, conaffinity=0, group=group)  # fmt: skip
        for number, points in enumerate(one.solid.part_vertices[:24]):
            hull = self.spec.add_mesh(
                name=f"{name}:{number}", maxhullvert=24, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
            )
            hull.uservert = np.asarray(points, float).ravel()
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{name}:{number}", group=COLLISION_GROUP,
                          friction=[0.8, 0.02, 0.002], margin=0.001)  # fmt: skip


# ---------------------------------------------------------------------- grounds


def _room(scene: VariedScene, floor: float) -> None:
    """Add a floor at a height, walls, and furniture that no object stands on."""
    random = scene.random
    scene.add_surface("other", np.array([4, 4, 0.05]), np.array([0, 0, floor - 0.05]))
    for _ in range(int(random.integers(0, 3))):
        turn = random.uniform(0, 2 * np.pi)
        distance = random.uniform(0.15, 1.6) + np.linalg.norm(scene.half)
        at = np.array([np.cos(turn) * distance, np.sin(turn) * distance, 0.8])
        scene.add_surface("other", np.array([0.02, 3, 2]), at, _yaw(turn))
    for _ in range(int(random.integers(0, 5))):
        turn, size = random.uniform(0, 2 * np.pi), random.uniform(0.03, 0.45, 3)
        distance = np.linalg.norm(scene.half) + np.linalg.norm(size[:2]) + random.uniform(0.05, 0.8)
        at = np.array([np.cos(turn) * distance, np.sin(turn) * distance, floor + size[2]])
        scene.add_surface("other", size, at, _yaw(random.uniform(0, 3)))


def _yaw(angle: float) -> np.ndarray:
    return np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])


def table_ground(scene: VariedScene) -> None:
    """Add a table, large or so small that objects reach its edge, with a mat on it now and then."""
    random = scene.random
    half = random.uniform((0.16, 0.16), (0.8, 0.6))
    thick = float(random.uniform(0.01, 0.06))
    scene.add_surface("ground", np.array([*half, thick]), np.array([0, 0, -thick]))
    scene.half = np.minimum(half - 0.03, 0.36)
    if random.random() < 0.15:
        size = scene.half * random.uniform(0.5, 1, 2)
        scene.add_surface("ground", np.array([*size, 0.001]), np.array([0, 0, 0.0005]), _yaw(random.uniform(0, 3)))
    if random.random() < 0.2:  # a screen or a shelf at the table's back
        size = np.array([half[0] * random.uniform(0.3, 1), 0.02, random.uniform(0.05, 0.3)])
        at = np.array([random.normal(0, 0.1), half[1] - 0.03, size[2] + random.choice([0, 0.08])])
        scene.add_surface("other", size, at)
    _room(scene, -float(random.uniform(0.3, 0.9)))


def floor_ground(scene: VariedScene) -> None:
    """Add a floor or carpet with walls and furniture."""
    scene.half = scene.random.uniform(0.15, 0.45, 2)
    scene.add_surface("ground", np.array([3, 3, 0.05]), np.array([0, 0, -0.05]))
    _room(scene, -0.2)


def bin_ground(scene: VariedScene) -> None:
    """Add a bin, box or tote with straight or slanting walls, on a table or floor."""
    random = scene.random
    half, height = random.uniform((0.12, 0.1), (0.36, 0.28)), float(random.uniform(0.05, 0.3))
    thick, slant = float(random.uniform(0.002, 0.02)), float(random.choice([0, 0, random.uniform(0.05, 0.35)]))
    shared = scene.add_surface("ground", np.array([*half, thick]), np.array([0, 0, -thick]))
    own = random.random() < 0.8  # walls of the bin's colour
    for axis, side in ((0, 1), (0, -1), (1, 1), (1, -1)):
        size = np.array([thick, half[1] + height, height]) if axis == 0 else np.array([half[0] + height, thick, height])
        if not slant:
            size[1 - axis] = half[1 - axis] + 2 * thick
        at = np.zeros(3)
        at[axis] = side * (half[axis] + thick + np.sin(slant) * height)
        at[2] = np.cos(slant) * height - thick
        turn = slant * side
        quat = (
            np.array([np.cos(turn / 2), 0, np.sin(turn / 2), 0])
            if axis == 0
            else np.array([np.cos(-turn / 2), np.sin(-turn / 2), 0, 0])
        )
        scene.add_surface("wall", size, at, quat, shared if own else "")
    scene.half, scene.drop = half - 0.04, 0.05
    under = -2 * thick - 0.003
    if random.random() < 0.6:
        scene.add_surface(
            "other",
            np.array([half[0] + random.uniform(0.05, 0.5), half[1] + random.uniform(0.05, 0.5), 0.02]),
            np.array([0, 0, under - 0.02]),
        )
    _room(scene, under - float(random.uniform(0.05, 0.9)))


def seat_ground(scene: VariedScene) -> None:
    """Add a chair or sofa: a seat with a back and arms of the same cloth."""
    random = scene.random
    half, back = random.uniform((0.2, 0.2), (0.4, 0.32)), float(random.uniform(0.15, 0.5))
    cloth = scene.add_surface("ground", np.array([*half, 0.08]), np.array([0, 0, -0.08]))
    turn = -float(random.uniform(0, 0.35))
    scene.add_surface("wall", np.array([half[0] + 0.1, 0.06, back]),
                      np.array([0, half[1] + 0.07 - back * np.sin(turn), back - 0.05]),
                      np.array([np.cos(turn / 2), np.sin(turn / 2), 0, 0]), cloth)  # fmt: skip
    for side in (-1, 1):
        if random.random() < 0.7:
            arm = float(random.uniform(0.03, 0.15))
            scene.add_surface(
                "wall", np.array([0.05, half[1], arm]), np.array([side * (half[0] + 0.05), 0, arm - 0.05]), None, cloth
            )
    scene.half, scene.drop = half - 0.05, 0.02
    _room(scene, -float(random.uniform(0.25, 0.5)))


def shelf_ground(scene: VariedScene) -> None:
    """Add several boards or steps with objects on them."""
    random = scene.random
    count, rise = int(random.integers(2, 4)), float(random.uniform(0.12, 0.35))
    half = random.uniform((0.25, 0.12), (0.5, 0.25))
    steps = random.random() < 0.5
    board, levels = "", []
    for level in range(count):
        at = np.array([0, level * half[1] * 2 if steps else 0.0, level * rise])
        own = board if random.random() < 0.7 else ""
        thick = rise / 2 if steps else 0.01
        board = scene.add_surface("ground", np.array([*half, thick]), at - [0, 0, thick], None, own)
        levels.append(tuple(float(one) for one in at))
    scene.levels, scene.half = tuple(levels), half - 0.03
    if not steps:
        back = np.array([half[0], 0.01, count * rise / 2])
        scene.add_surface("wall", back, np.array([0, half[1], count * rise / 2 - rise / 2]), None, board)
    _room(scene, -float(random.uniform(0.05, 0.6)))


GROUNDS: dict[str, Callable[[VariedScene], None]] = {
    "table": table_ground, "floor": floor_ground, "bin": bin_ground, "seat": seat_ground, "shelf": shelf_ground,
}  # fmt: skip
GROUND_PROBABILITIES = (0.42, 0.15, 0.24, 0.09, 0.10)


# ---------------------------------------------------------------------- objects


def fill(scene: VariedScene, layout: str) -> None:
    """Put objects on the ground: spaced, touching, heaped or stacked; flat, parts, boxes, clear ones; or CONTAINED."""
    random = scene.random
    if layout in CONTAINED:
        CONTAINED[layout](scene)
        return
    kind = layout if layout in ("boxes", "flat", "parts", "clear") else "any"
    count = int(random.integers(1, 4) if random.random() < 0.12 else random.integers(4, 15))
    for level in scene.levels:
        number = max(1, count // len(scene.levels))
        if layout == "heap" or (kind in ("boxes", "parts") and random.random() < 0.4):
            _heap(scene, kind, number, np.array(level))
        elif layout in ("touching", "boxes"):
            _rows(scene, kind, number, np.array(level))
        else:
            _spaced(scene, kind, number, np.array(level), layout == "stack")


def _quat(one: RandomObject, random: np.random.Generator) -> np.ndarray:
    """Return a yaw, or a random rotation now and then (wxyz), seldom for flat and thin objects."""
    extents = one.solid.mesh.extents
    if random.random() < (0.96 if extents[2] < 0.25 * extents.max() else 0.7):
        return _yaw(random.uniform(0, 2 * np.pi))
    quat = random.normal(size=4)
    return quat / np.linalg.norm(quat)


def _height(one: RandomObject, quat: np.ndarray) -> float:
    """Return half the height of an object at a rotation."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, quat)
    return float(np.ptp(one.solid.mesh.vertices @ rotation.reshape(3, 3)[2])) / 2


def _heap(scene: VariedScene, kind: str, count: int, level: np.ndarray) -> None:
    spread, z = scene.random.uniform(0.04, 0.12), 0.01
    for _ in range(count):
        one = random_object(kind, scene.ground_colour, scene.random)
        quat = _quat(one, scene.random)
        height = _height(one, quat)
        at = (scene.random.normal(0, spread, 2)).clip(-scene.half * 0.8, scene.half * 0.8)
        scene.add_object(one, np.add(level, [*at, z + height + scene.drop]), quat)
        z += 1.1 * height


def _rows(scene: VariedScene, kind: str, count: int, level: np.ndarray) -> None:
    random = scene.random
    x, y, deep = -scene.half[0], -scene.half[1] * 0.6, 0.0
    turn = random.uniform(0, 2 * np.pi)
    for _ in range(count):
        one = random_object(kind, scene.ground_colour, random)
        size = one.solid.mesh.extents
        if x + size[0] > scene.half[0]:
            x, y, deep = -scene.half[0], y + deep + max(0.0, random.normal(0, 0.02)), 0.0
        if y > scene.half[1]:
            break
        local = np.array([x + size[0] / 2, y + size[1] / 2])
        at = np.array(
            [np.cos(turn) * local[0] - np.sin(turn) * local[1], np.sin(turn) * local[0] + np.cos(turn) * local[1]]
        )
        at = at.clip(-scene.half, scene.half)
        scene.add_object(one, np.add(level, [*at, size[2] / 2 + 0.001 + scene.drop]), _yaw(turn))
        x, deep = x + size[0] + max(0.0005, random.normal(0, 0.006)), max(deep, size[1])


def _spaced(scene: VariedScene, kind: str, count: int, level: np.ndarray, stacked: bool) -> None:
    random, taken = scene.random, []
    for _ in range(count):
        one = random_object(kind, scene.ground_colour, random)
        quat = _quat(one, random)
        radius = float(np.linalg.norm(one.solid.mesh.extents[:2])) / 2
        for _ in range(12):
            at = random.uniform(-scene.half, scene.half)
            if all(np.hypot(*(at - other)) > (radius + r) * random.uniform(0.75, 1.3) for other, r in taken):
                break
        else:
            continue
        taken.append((at, radius))
        height = _height(one, quat)
        scene.add_object(one, np.add(level, [*at, height + 0.001 + scene.drop]), quat)
        if stacked and random.random() < 0.6:
            upper, turned = random_object(kind, scene.ground_colour, random), _yaw(random.uniform(0, 2 * np.pi))
            up = 2 * height + _height(upper, turned) + 0.003 + scene.drop
            scene.add_object(upper, np.add(level, [*(at + random.normal(0, 0.006, 2)), up]), turned)


def _packed(scene: VariedScene) -> None:
    """Fill the area with two or three layers of objects."""
    random = scene.random
    kind, z = str(random.choice(["any", "any", "boxes", "parts"])), 0.0
    for _ in range(int(random.integers(12, 27))):
        one = random_object(kind, scene.ground_colour, random)
        quat = _quat(one, random)
        height = _height(one, quat)
        at = random.uniform(-scene.half, scene.half) * 0.85
        scene.add_object(one, np.add(scene.levels[0], [*at, z + height + scene.drop]), quat)
        z += 0.6 * height


def _contents(scene: VariedScene) -> None:
    """Put objects into one to three bowls, bins or trays, and some beside them."""
    random, taken = scene.random, []
    for _ in range(int(random.integers(1, 4))):
        one = random_container(scene.ground_colour, random)
        size = one.solid.mesh.extents
        radius = float(np.linalg.norm(size[:2])) / 2
        at = random.uniform(-scene.half, scene.half)
        if any(np.hypot(*(at - other)) < radius + r for other, r in taken):
            continue
        taken.append((at, radius))
        level = np.add(scene.levels[0], [*at, scene.drop])
        scene.add_object(one, np.add(level, [0, 0, size[2] / 2 + 0.001]), _yaw(random.uniform(0, 2 * np.pi)))
        kind, z = str(random.choice(["any", "blocks", "boxes"])), size[2]
        for _ in range(int(random.integers(0, 7))):
            inner = random_object(kind, scene.ground_colour, random)
            if np.sort(inner.solid.mesh.extents)[1] < 0.8 * min(size[:2]):
                quat = _quat(inner, random)
                z += _height(inner, quat)
                scene.add_object(inner, np.add(level, [*(random.normal(0, 0.15, 2) * size[:2]), z]), quat)
                z += _height(inner, quat)
    _spaced(scene, "any", int(random.integers(2, 7)), np.array(scene.levels[0]), False)


def _towers(scene: VariedScene) -> None:
    """Stack plain and printed blocks and cans, two to four high, close together."""
    random = scene.random
    spread = scene.half * random.uniform(0.4, 1)
    for _ in range(int(random.integers(2, 7))):
        at, z = random.uniform(-spread, spread), scene.drop
        for _ in range(int(random.choice([1, 2, 2, 2, 3, 4]))):
            one = random_object("blocks", scene.ground_colour, random)
            height = float(one.solid.mesh.extents[2])
            offset = random.normal(0, 0.006, 2)
            scene.add_object(
                one,
                np.add(scene.levels[0], [*(at + offset), z + height / 2 + 0.001]),
                _yaw(random.uniform(0, 2 * np.pi)),
            )
            z += height


CONTAINED: dict[str, Callable[[VariedScene], None]] = {"packed": _packed, "contents": _contents, "towers": _towers}
"""Layouts that `varied_tables` draws in populated scenes only."""
