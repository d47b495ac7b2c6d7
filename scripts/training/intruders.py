"""Adds robots, grippers, hands and legs to a drawn scene: what a camera sees beside the objects and no task moves."""

from itertools import pairwise

import mujoco
import numpy as np

from scripts.training.varied_scenes import VariedScene

CAPSULE, CYLINDER = mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER
SPHERE, BOX, ELLIPSOID = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_ELLIPSOID
ROBOT_COLOURS = ((0.92, 0.92, 0.9), (0.75, 0.76, 0.78), (0.1, 0.1, 0.11), (0.9, 0.45, 0.08), (0.9, 0.75, 0.1),
                 (0.15, 0.3, 0.6), (0.4, 0.41, 0.43))  # fmt: skip
SKINS = ((0.93, 0.75, 0.65), (0.85, 0.62, 0.5), (0.68, 0.45, 0.33), (0.45, 0.29, 0.2), (0.28, 0.18, 0.13))
HELD = 0.35
"""Share of grippers and hands that hold an object."""


class Intruder:
    """Draws geoms that no object touches, named intruder:N."""

    def __init__(self, scene: VariedScene):
        self.scene, self.random = scene, scene.random

    def colour(self, palette: tuple[tuple[float, float, float], ...]) -> np.ndarray:
        """Return a colour of the palette or, now and then, any (3,), 0 to 1."""
        base = palette[int(self.random.integers(len(palette)))]
        drawn = self.random.uniform(0.03, 0.97, 3) if self.random.random() < 0.15 else np.array(base)
        return (drawn + self.random.normal(0, 0.03, 3)).clip(0.02, 1)

    def add(self, kind: mujoco.mjtGeom, size: list[float], rgb: np.ndarray, **placement: object) -> None:
        """Add a geom of half sizes `size`."""
        self.scene.surfaces += 1
        geom = self.scene.spec.worldbody.add_geom(type=kind, contype=0, conaffinity=0, **placement)
        geom.name, geom.size, geom.rgba = f"intruder:{self.scene.surfaces}", [*size, 0, 0][:3], [*rgb, 1]

    def tube(self, start: np.ndarray, end: np.ndarray, radius: float, rgb: np.ndarray, flat: bool = False) -> None:
        """Add a limb between two points; `flat` ends it without round caps."""
        if np.linalg.norm(end - start) > 1e-3:
            self.add(CYLINDER if flat else CAPSULE, [radius], rgb, fromto=[*start, *end])

    def bar(self, start: np.ndarray, end: np.ndarray, size: tuple[float, float], rgb: np.ndarray) -> None:
        """Add a box of half sides `size` between two points."""
        along = end - start
        length = float(np.linalg.norm(along))
        if length > 1e-3:
            self.add(BOX, [*size, length / 2], rgb, pos=(start + end) / 2, quat=_quat_from_z(along / length))


def _quat_from_z(axis: np.ndarray) -> np.ndarray:
    """Return the rotation (wxyz) that turns z to a unit vector."""
    quat = np.zeros(4)
    mujoco.mju_quatZ2Vec(quat, axis)
    return quat


def _target(scene: VariedScene) -> np.ndarray:
    """Return a point among or above the objects."""
    level = np.array(scene.levels[int(scene.random.integers(len(scene.levels)))])
    xy = scene.random.normal(0, 0.55, 2) * scene.half
    return np.add(level, [*xy, scene.random.uniform(0.01, 0.3)])


def _held_object(scene: VariedScene) -> int | None:
    """Return the number of an object small enough for a hand, or None."""
    small = [n for n, one in enumerate(scene.objects, 1) if np.sort(one.solid.mesh.extents)[1] < 0.09]
    return int(scene.random.choice(small)) if small and scene.random.random() < HELD else None


def _grip(scene: VariedScene, target: np.ndarray) -> float:
    """Let a held object be moved to the target after it settled; return half the opening of the fingers."""
    number = _held_object(scene)
    if number is None:
        return float(scene.random.uniform(0.005, 0.045))
    target[2] = max(target[2], float(scene.random.uniform(0.08, 0.3)))
    scene.held = number, target
    return float(np.sort(scene.objects[number - 1].solid.mesh.extents)[0]) / 2 + 0.002


def add_robot(scene: VariedScene) -> None:
    """Add an arm with a gripper that reaches among the objects, from beside the ground or from above."""
    own, random = Intruder(scene), scene.random
    body, joint = own.colour(ROBOT_COLOURS), own.colour(ROBOT_COLOURS)
    target = _target(scene)
    opening = _grip(scene, target)
    tilt = random.normal(0, 0.3, 2)
    up = np.array([*tilt, 1.0]) / np.linalg.norm([*tilt, 1.0])
    wrist = target + up * random.uniform(0.1, 0.2)
    turn, distance = random.uniform(0, 2 * np.pi), random.uniform(0.3, 0.75)
    base = np.array([np.cos(turn) * distance, np.sin(turn) * distance, random.choice([0.0, 0.0, -0.1])])
    if random.random() < 0.12:
        base = np.add(wrist, [*random.normal(0, 0.1, 2), 1.2])  # hangs from a gantry
    shoulder = np.add(base, [0, 0, random.uniform(0.08, 0.35) if base[2] < 0.5 else -0.2])
    aside = np.cross([0, 0, 1], wrist - shoulder)
    elbow = (shoulder + wrist) / 2 + [0, 0, random.uniform(0.05, 0.35)] + aside * random.normal(0, 0.2)
    thick, blocky = random.uniform(0.022, 0.07), random.random() < 0.3
    points = [base, shoulder, elbow, wrist + up * random.uniform(0.03, 0.1), wrist]
    for number, (start, end) in enumerate(pairwise(points)):
        radius = thick * (1.15 - 0.13 * number)
        if blocky:
            own.bar(start, end, (radius, radius * random.uniform(0.5, 1)), body)
        else:
            own.tube(start, end, radius, body, flat=random.random() < 0.3)
        if random.random() < 0.8:
            across = random.normal(size=3)
            across *= radius * 1.25 / np.linalg.norm(across)
            own.tube(end - across, end + across, radius * random.uniform(0.95, 1.25), joint, flat=True)
    if base[2] < 0.5 and random.random() < 0.7:
        own.tube(base - [0, 0, 0.01], np.add(base, [0, 0, 0.05]), thick * random.uniform(1.3, 2.2), joint, flat=True)
    if random.random() < 0.3:
        _add_cable(own, points, thick)
    _add_gripper(own, target, wrist, opening, own.colour(ROBOT_COLOURS))


def _add_cable(own: Intruder, points: list[np.ndarray], thick: float) -> None:
    """Add a hose along the arm."""
    offset, rgb = own.random.normal(0, thick, 3), own.colour(((0.05, 0.05, 0.05), (0.8, 0.8, 0.8)))
    stations = [a + (b - a) * t for a, b in pairwise(points) for t in (0, 0.5)] + [points[-1]]
    stations = [one + offset + own.random.normal(0, 0.02, 3) for one in stations]
    for start, end in pairwise(stations):
        own.tube(start, end, 0.004 + thick * 0.07, rgb)


def _add_gripper(own: Intruder, tip: np.ndarray, wrist: np.ndarray, opening: float, rgb: np.ndarray) -> None:
    """Add a parallel gripper, three fingers, or a suction cup."""
    random = own.random
    axis = (wrist - tip) / np.linalg.norm(wrist - tip)
    across = np.cross(axis, random.normal(size=3))
    across /= np.linalg.norm(across)
    third = np.cross(axis, across)
    palm = tip + axis * random.uniform(0.05, 0.1)
    kind, finger = random.random(), own.colour(ROBOT_COLOURS) if random.random() < 0.5 else rgb
    if kind < 0.15:
        own.tube(tip + axis * 0.02, wrist, random.uniform(0.008, 0.015), rgb, flat=True)
        own.tube(tip, tip + axis * 0.025, random.uniform(0.012, 0.03), finger, flat=True)
        return
    own.bar(palm, wrist, (random.uniform(0.02, 0.05), random.uniform(0.02, 0.045)), rgb)
    sides = [across, -across] if kind < 0.85 else [across, -across * 0.5 + third * 0.87, -across * 0.5 - third * 0.87]
    size = (random.uniform(0.004, 0.012), random.uniform(0.006, 0.016))
    for side in sides:
        low, knuckle = tip + side * (opening + size[0]), palm + side * (opening + size[0]) * random.uniform(0.9, 1.6)
        own.bar(low - axis * 0.015, low + axis * 0.03, size, finger)
        own.bar(low + axis * 0.03, knuckle, size, finger)
    if random.random() < 0.3:  # a camera at the wrist
        at = (palm + wrist) / 2 + third * 0.06
        own.bar(
            at - across * 0.045, at + across * 0.045, (0.012, 0.013), own.colour(((0.7, 0.7, 0.7), (0.1, 0.1, 0.1)))
        )


def add_hand(scene: VariedScene) -> None:
    """Add a person's hand and forearm, with a sleeve or without, that reaches among the objects."""
    own, random = Intruder(scene), scene.random
    skin, cloth = own.colour(SKINS), random.uniform(0.03, 0.95, 3)
    if random.random() < 0.12:
        skin = random.uniform(0.05, 0.9, 3)  # a glove
    target = _target(scene)
    opening = _grip(scene, target)
    turn = random.uniform(0, 2 * np.pi)
    back = np.array([np.cos(turn), np.sin(turn), random.uniform(0.1, 1.1)])
    back /= np.linalg.norm(back)
    across = np.cross(back, [0, 0, 1.0])
    across /= np.linalg.norm(across)
    normal = np.cross(across, back)
    scale = random.uniform(0.85, 1.15)
    palm = target + back * 0.085 * scale + normal * 0.02
    wrist = palm + back * 0.06 * scale
    own.add(ELLIPSOID, [0.042 * scale, 0.05 * scale, 0.017 * scale], skin, pos=palm, quat=_frame_quat(across, back))
    for place in (-1.5, -0.5, 0.5, 1.5):
        root = palm - back * 0.045 * scale + across * 0.021 * place * scale
        bend = root - back * 0.035 * scale + normal * random.uniform(0.0, 0.025) + across * random.normal(0, 0.004)
        tip = target + across * 0.016 * place * scale + normal * (opening + 0.006) + random.normal(0, 0.006, 3)
        own.tube(root, bend, 0.0085 * scale, skin)
        own.tube(bend, tip, 0.0075 * scale, skin)
    root, bend = (
        palm + across * 0.035 * scale + back * 0.02,
        palm + across * 0.045 * scale - back * 0.02 - normal * 0.01,
    )
    own.tube(root, bend, 0.012 * scale, skin)
    own.tube(bend, target - normal * (opening + 0.006) + across * 0.01, 0.0095 * scale, skin)
    elbow = wrist + back * random.uniform(0.2, 0.5) + random.normal(0, 0.03, 3)
    own.tube(wrist, elbow, 0.028 * scale, skin)
    own.tube(palm, wrist, 0.025 * scale, skin)
    if random.random() < 0.7:
        sleeve = wrist + (elbow - wrist) * random.uniform(0.05, 0.7)
        own.tube(sleeve, elbow + back * 0.2, random.uniform(0.04, 0.06) * scale, cloth)


def _frame_quat(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rotation (wxyz) whose first two axes are orthogonal unit vectors."""
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.stack([x, y, np.cross(x, y)], 1).ravel())
    return quat


def add_person(scene: VariedScene) -> None:
    """Add legs or a body behind or beside the ground, or the legs of a chair."""
    own, random = Intruder(scene), scene.random
    turn = random.uniform(0, 2 * np.pi)
    out = np.array([np.cos(turn), np.sin(turn), 0.0])
    at, across = out * (np.linalg.norm(scene.half) + random.uniform(0.08, 0.5)), np.array([-out[1], out[0], 0.0])
    cloth, low = random.uniform(0.03, 0.9, 3), random.uniform(-0.8, 0.0)
    if random.random() < 0.25:
        for side in (-1, 1):
            foot = at + across * side * 0.18 + [0, 0, low]
            own.tube(foot, np.add(foot, [*random.normal(0, 0.05, 2), 0.8]), random.uniform(0.008, 0.025), cloth)
        return
    for side in (-1, 1):
        foot = at + across * side * random.uniform(0.08, 0.16) + [0, 0, low]
        knee = np.add(foot, [*random.normal(0, 0.07, 2), 0.45])
        hip = at + across * side * 0.09 + [*random.normal(0, 0.03, 2), low + 0.9]
        own.tube(foot, knee, 0.055, cloth)
        own.tube(knee, hip, 0.075, cloth)
        shoe = random.uniform(0.02, 0.6, 3)
        own.add(ELLIPSOID, [0.05, 0.13, 0.04], shoe, pos=foot - out * 0.05, quat=_frame_quat(across, -out))
    if random.random() < 0.6:
        middle = np.add(at, [0, 0, low + 1.15])
        own.add(ELLIPSOID, [0.21, 0.14, 0.33], random.uniform(0.03, 0.95, 3), pos=middle, quat=_frame_quat(across, out))


def add_intruders(scene: VariedScene) -> None:
    """Add none, one or two of them."""
    random = scene.random
    if random.random() < 0.45:
        add_robot(scene)
        if random.random() < 0.2:
            add_robot(scene)
    elif random.random() < 0.3:
        add_hand(scene)
        if random.random() < 0.3:
            add_hand(scene)
    if random.random() < 0.15:
        add_person(scene)
