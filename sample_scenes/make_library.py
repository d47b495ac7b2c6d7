"""Makes the library of our own assets: python sample_scenes/make_library.py [FOLDER]

Every shape, picture and number here is our own. Deterministic: run twice, the same files.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image, ImageDraw
from prints import PAPER, Colour, Motif, carton, disc, dots, front, strip, stripes, wrap
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from pipeline.assets import shapes
from pipeline.assets.library import write_asset
from pipeline.assets.shapes import Solid, box, extrude, hollow, join, lathe, plain, rounded_square, tube

RED, ORANGE, YELLOW, GREEN, BLUE = (190, 30, 35), (225, 110, 30), (240, 196, 40), (40, 130, 65), (35, 80, 165)
PURPLE, TEAL, NAVY, BROWN, WHITE = (110, 60, 140), (60, 165, 150), (24, 32, 70), (112, 72, 44), (238, 236, 230)
BLACK, GREY, STEEL, WOOD, PINK, CREAM = (
    (36, 36, 38),
    (140, 142, 144),
    (178, 180, 184),
    (196, 154, 104),
    (228, 150, 170),
    (236, 220, 180),
)
NAMED = {"red": RED, "orange": ORANGE, "yellow": YELLOW, "green": GREEN, "blue": BLUE, "purple": PURPLE}


@dataclass(frozen=True)
class Made:
    """One asset as it goes into asset.json."""

    category: str
    caption: str
    mass: float
    solid: Callable[[], Solid]
    friction: float = 0.6
    container: bool = False


def block(size: tuple[float, float, float], rgb: Colour) -> Callable[[], Solid]:
    def make() -> Solid:
        shade = [Image.new("RGB", (8, 8), tuple(int(k * c) for c in rgb)) for k in (1, 0.97, 0.99, 0.96, 1, 0.9)]
        return box(size, strip(shade))

    return make


def cylinder(radius: float, height: float, rgb: Colour) -> Callable[[], Solid]:
    return lambda: lathe([(0, 0), (radius, 0), (radius, height), (0, height)], plain(rgb))


def ball(radius: float, grounds: list[Colour]) -> Callable[[], Solid]:
    bands = Image.new("RGB", (64, 32), grounds[0])
    for k in range(0, 64, 16):
        bands.paste(grounds[-1], (k, 0, k + 8, 32))
    return lambda: shapes.ball(radius, bands)


def box_of(
    size: tuple[float, float, float], ground: Colour, accent: Colour, title: str, motif: Motif, ink: Colour = PAPER
) -> Callable[[], Solid]:
    return lambda: box(size, carton(size, ground, accent, title, motif, ink))


def can(
    radius: float,
    height: float,
    ground: Colour,
    accent: Colour,
    title: str,
    motif: Motif,
    ink: Colour = PAPER,
    lid: Colour = STEEL,
) -> Callable[[], Solid]:
    def make() -> Solid:
        rim = 0.03 * radius
        profile = [
            (0, 0),
            (radius, 0),
            (radius, height),
            (radius - 2 * rim, height),
            (radius - 2 * rim, height - rim),
            (0, height - rim),
        ]
        face = front((192, max(40, round(192 * height / (np.pi * radius)))), ground, accent, title, motif, ink)
        image = wrap(
            profile,
            [(-1, lid), (0.001, lid), (0.03 * height, ground), (0.95 * height, lid)],
            (0.04 * height, 0.95 * height),
            face,
        )
        solid = lathe(profile, image)
        return Solid(solid.mesh, (shapes.hull(solid.mesh.vertices),))

    return make


def bottle(
    points: list[tuple[float, float]],
    grounds: list[tuple[float, Colour]],
    cuts: tuple[float, ...],
    flat: float = 1.0,
    label: tuple[float, float] | None = None,
    face: Image.Image | None = None,
) -> Callable[[], Solid]:
    """A profile, smoothed between its points; `flat` is its depth for a width of one."""

    def make() -> Solid:
        outline = shapes.circle() * [1, flat]
        return lathe(points, wrap(points, grounds, label, face), outline, cuts)

    return make


def smooth(points: list[tuple[float, float]], steps: int = 5) -> list[tuple[float, float]]:
    """A profile with rounded shoulders: monotone cubic between the points, the base and the top kept flat."""
    radius, height = np.array(points).T
    fine = np.unique(np.concatenate([np.linspace(a, b, steps) for a, b in pairwise(height)]))
    curve = PchipInterpolator(height, radius)(fine)
    return [(0.0, height[0]), *zip(curve.tolist(), fine.tolist(), strict=True), (0.0, height[-1])]


def bowl(radius: float, height: float, rgb: Colour, inside: Colour | None = None) -> Callable[[], Solid]:
    image = Image.new("RGB", (16, 64), rgb)
    image.paste(inside or rgb, (0, 0, 16, 31))
    return lambda: shapes.bowl(radius, height, image)


def mug(radius: float, height: float, rgb: Colour, taper: float = 1.0, handle: bool = True) -> Callable[[], Solid]:
    def make() -> Solid:
        wall, base = 0.004, 0.006
        outer = [(0, 0), (radius * taper, 0), (radius, height)]
        inner = [(0, base), (radius * taper - wall, base), (radius - wall, height)]
        body = hollow(outer, inner, plain(rgb), bands=1)
        if not handle:
            return body
        angle = np.linspace(-0.5, 0.5, 15) * np.pi
        path = np.c_[0.92 * radius + 0.62 * radius * np.cos(angle), 0 * angle, height * (0.5 + 0.3 * np.sin(angle))]
        path[0, 0] = np.interp(path[0, 2], [0, height], [radius * taper, radius]) - wall / 2
        path[-1, 0] = np.interp(path[-1, 2], [0, height], [radius * taper, radius]) - wall / 2
        return join(body, tube(path, 0.0055, plain(rgb), sides=10, cuts=5))

    return make


def plate(radius: float, rgb: Colour) -> Callable[[], Solid]:
    outer = [(0, 0), (0.6 * radius, 0), (0.7 * radius, 0.01), (radius, 0.02)]
    inner = [(0, 0.004), (0.57 * radius, 0.004), (0.67 * radius, 0.014), (radius - 0.002, 0.02)]
    return lambda: hollow(outer, inner, plain(rgb), bands=1)


def open_box(
    size: tuple[float, float, float], rgb: Colour, slant: float = 0.9, wall: float = 0.004
) -> Callable[[], Solid]:
    """A tray or a bin of width, depth and height."""

    def make() -> Solid:
        width, depth, height = size
        outline = rounded_square(0.18) * [1, depth / width]
        half = width / 2
        outer = [(0, 0), (half * slant, 0), (half, height)]
        inner = [(0, wall), (half * slant - wall, wall), (half - wall, height)]
        image = plain(rgb)
        return hollow(outer, inner, image, outline, bands=1)

    return make


def book(size: tuple[float, float, float], rgb: Colour, accent: Colour, title: str) -> Callable[[], Solid]:
    def make() -> Solid:
        x, y, z = size
        cover = front((round(900 * x), round(900 * y)), rgb, accent, title, disc(accent, rgb))
        spine = Image.new("RGB", (round(900 * y), max(8, round(900 * z))), rgb)
        pages = Image.new("RGB", (round(900 * x), 12), (235, 230, 215))
        return box(size, strip([pages, pages, pages, spine, cover, Image.new("RGB", cover.size, rgb)]))

    return make


def brick() -> Solid:
    """A small foam brick with three holes in its face."""
    face = Image.new("RGB", (120, 76), (140, 52, 40))
    for x in (26, 60, 94):
        ImageDraw.Draw(face).ellipse((x - 10, 28, x + 10, 48), (70, 24, 20))
    edge = Image.new("RGB", (120, 76), (134, 50, 38))
    return box((0.078, 0.051, 0.053), strip([edge, edge, edge, edge, face, face]))


def gable() -> Solid:
    """A juice carton with a sloping roof and a cap."""
    w, body, roof = 0.075, 0.19, 0.045
    size = (w, w, body)
    sides = box(size, carton(size, WHITE, ORANGE, "ORANGE", disc(ORANGE), WHITE))
    half = w / 2
    slope = np.array([(-half, 0), (half, 0), (0.002, roof), (-0.002, roof)])
    top = extrude(slope, w, plain(ORANGE)).turned(90, [1, 0, 0]).at(z=body / 2)
    fin = box((0.004, w, 0.018), plain(WHITE)).at(z=body / 2 + roof + 0.008)
    cap = (
        lathe([(0, 0), (0.014, 0), (0.014, 0.014), (0, 0.014)], plain(GREEN))
        .turned(59, [0, 1, 0])
        .at(x=0.017, z=body / 2 + 0.022)
    )
    return join(sides, top, fin, cap)


def jug() -> Solid:
    """A cleanser bottle, wide and flat, with a slanted shoulder and a cap."""
    points = [(0.05, 0), (0.052, 0.05), (0.05, 0.15), (0.042, 0.185), (0.022, 0.21), (0.02, 0.218)]
    profile = smooth(points)
    face = front((220, 250), WHITE, BLUE, "CLEANSER", disc(YELLOW, BLUE))
    body = lathe(profile, wrap(profile, [(-1, WHITE)], (0.03, 0.15), face), shapes.circle() * [1, 0.62], (0.15, 0.205))
    cap = lathe([(0, 0), (0.02, 0), (0.018, 0.03), (0, 0.03)], plain(STEEL)).at(z=0.218)
    return join(body, cap)


def spray() -> Solid:
    profile = smooth([(0.019, 0), (0.02, 0.03), (0.02, 0.095), (0.011, 0.115), (0.0105, 0.125)])
    face = front((150, 150), WHITE, TEAL, "CLEAN", disc(TEAL))
    body = lathe(profile, wrap(profile, [(-1, WHITE)], (0.02, 0.09), face), None, (0.095,))
    head = lathe([(0, 0), (0.012, 0), (0.011, 0.022), (0.007, 0.03), (0, 0.03)], plain(WHITE)).at(z=0.125)
    nozzle = box((0.016, 0.008, 0.008), plain(GREY)).at(x=0.012, z=0.148)
    return join(body, head, nozzle)


def at_rest(solid: Solid) -> Solid:
    """The same as it lies on a table after a little fall, its yaw kept."""
    spec = mujoco.MjSpec()
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    body = spec.worldbody.add_body(pos=[0, 0, 0.002 - solid.mesh.bounds[0, 2]])
    body.add_freejoint()
    for k, piece in enumerate(solid.pieces):
        spec.add_mesh(name=f"m{k}", uservert=piece.vertices.ravel(), userface=piece.faces.ravel())
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{k}", friction=[0.9, 0.02, 0.005], condim=6)
    model = spec.compile()
    data = mujoco.MjData(model)
    while data.time < 6:
        mujoco.mj_step(model, data)
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_quat(data.qpos[3:7], scalar_first=True).as_matrix()
    return solid.moved(turn)


def screwdriver() -> Solid:
    handle = lathe(
        smooth([(0.011, 0), (0.014, 0.012), (0.015, 0.06), (0.011, 0.085), (0.008, 0.095)]),
        plain(RED),
        rounded_square(0.3),
        (0.06,),
    )
    shaft = lathe([(0, 0), (0.0032, 0), (0.0032, 0.1), (0.0012, 0.108), (0, 0.108)], plain(STEEL)).at(z=0.095)
    return at_rest(join(handle, shaft).turned(90, [0, 1, 0]))


def hammer() -> Solid:
    handle = lathe(smooth([(0.013, 0), (0.015, 0.06), (0.011, 0.2), (0.011, 0.235)]), plain(WOOD), None, (0.12,))
    head = lathe(
        [(0, -0.05), (0.014, -0.05), (0.014, -0.03), (0.012, -0.02), (0.012, 0.02), (0.004, 0.055), (0, 0.055)],
        plain((60, 62, 66)),
    )
    return at_rest(join(handle.turned(90, [0, 1, 0]), head.turned(90, [1, 0, 0]).at(x=0.235)))


def banana() -> Solid:
    angle = np.linspace(-0.55, 0.55, 19)
    path = np.c_[0.17 * np.sin(angle), 0.17 * (1 - np.cos(angle)), 0 * angle]
    radii = 0.0185 * np.clip(2.2 * (1 - np.abs(np.linspace(-1, 1, 19)) ** 4), 0.2, 1)
    skin = Image.new("RGB", (16, 64), (232, 196, 52))
    skin.paste((96, 72, 36), (0, 0, 16, 4))
    skin.paste((96, 72, 36), (0, 60, 16, 64))
    return tube(path, radii, skin, sides=12, cuts=6)


def apple() -> Solid:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 21)
    radius = np.cos(angle) * (1 + 0.12 * np.sin(angle))
    height = 0.92 * np.sin(angle) * (1 - 0.35 * np.abs(np.sin(angle)) ** 8)
    profile = np.c_[radius, height] * 0.037
    profile = profile[np.argmin(profile[:, 1]) :]  # stands on the ring around its lower dimple, here made flat
    profile = np.vstack([[0, profile[0, 1]], profile])
    profile[-1, 0] = 0
    skin = wrap(profile.tolist(), [(-1, (190, 40, 36)), (0.018, (205, 90, 50)), (0.026, (150, 150, 60))])
    stem = lathe([(0, 0), (0.0015, 0), (0.0015, 0.014), (0, 0.014)], plain(BROWN)).at(z=profile[:, 1].max() - 0.003)
    return join(lathe(profile, skin), stem)


def toy_plane() -> Solid:
    fuselage = (
        lathe(smooth([(0.012, 0), (0.022, 0.05), (0.028, 0.15), (0.024, 0.19)]), plain(RED), None, (0.15,))
        .turned(90, [0, 1, 0])
        .at(x=-0.1)
    )
    wing = box((0.06, 0.24, 0.008), plain((30, 110, 100)))
    struts = [box((0.008, 0.008, 0.07), plain(YELLOW)).at(x=0.045, y=y, z=0.012) for y in (-0.08, 0.08)]
    tail = box((0.03, 0.09, 0.006), plain((30, 110, 100))).at(x=-0.09, z=0.01)
    fin = box((0.03, 0.006, 0.045), plain(YELLOW)).at(x=-0.09, z=0.035)
    screw = box((0.006, 0.016, 0.1), plain(CREAM)).at(x=0.098)
    wheel = lathe([(0, -0.006), (0.02, -0.006), (0.02, 0.006), (0, 0.006)], plain(BLACK)).turned(90, [1, 0, 0])
    wheels = [wheel.at(x=0.05, y=y, z=-0.036) for y in (-0.04, 0.04)]
    skid = box((0.02, 0.01, 0.044), plain(BLACK)).at(x=-0.085, z=-0.034)
    return join(
        fuselage, wing.at(x=0.045, z=-0.024), wing.at(x=0.045, z=0.05), *struts, tail, fin, screw, *wheels, skid
    )


def drill() -> Solid:
    """A cordless drill standing on its battery."""
    battery = box((0.085, 0.06, 0.045), plain(BLACK)).at(z=0.0225)
    grip = box((0.034, 0.036, 0.085), plain(ORANGE)).at(x=-0.006, z=0.0875)
    motor = lathe(
        [(0, -0.065), (0.026, -0.065), (0.03, -0.05), (0.03, 0.04), (0.022, 0.058), (0, 0.058)], plain(ORANGE)
    )
    chuck = lathe([(0, 0), (0.02, 0), (0.018, 0.03), (0.008, 0.045), (0, 0.045)], plain(BLACK)).at(z=0.058)
    bit = lathe([(0, 0), (0.003, 0), (0.003, 0.03), (0, 0.03)], plain(STEEL)).at(z=0.1)
    top = join(motor, chuck, bit).turned(90, [0, 1, 0]).at(x=-0.005, z=0.155)
    return join(battery, grip, top)


def scissors() -> Solid:
    blade = extrude(np.array([(0, -0.006), (0.09, 0), (0.09, 0.0015), (0, 0.006)]), 0.004, plain(STEEL))
    angle = np.linspace(0, 2 * np.pi, 17)
    loop = tube(
        np.c_[0.022 * np.cos(angle) - 0.028, 0.017 * np.sin(angle), 0 * angle], 0.0045, plain(BLUE), sides=8, cuts=8
    )
    half = join(blade, loop.at(y=-0.012))
    other = half.moved(np.diag([1.0, -1, -1, 1]))  # half a turn about x: the same half the other way up
    return join(half.turned(9, [0, 0, 1]).at(z=0.0045), other.turned(-9, [0, 0, 1]).at(z=0.0045))


def marker() -> Solid:
    return lathe(
        [(0, 0), (0.009, 0), (0.0095, 0.09), (0.0095, 0.135), (0, 0.135)],
        wrap([(0, 0), (0.009, 0), (0.0095, 0.09), (0.0095, 0.135), (0, 0.135)], [(-1, WHITE), (0.09, BLUE)]),
    ).turned(90, [0, 1, 0])


def tape() -> Solid:
    """A roll of tape lying on its side: a ring, open through the middle but for a thin core."""
    return hollow(
        [(0, 0), (0.045, 0), (0.045, 0.024)],
        [(0, 0.002), (0.034, 0.002), (0.034, 0.024)],
        plain((200, 170, 110)),
        bands=1,
    )


def pear() -> Solid:
    profile = smooth([(0.012, 0), (0.03, 0.012), (0.034, 0.03), (0.026, 0.055), (0.015, 0.078), (0.006, 0.088)])
    stem = lathe([(0, 0), (0.0015, 0), (0.0015, 0.015), (0, 0.015)], plain(BROWN)).at(z=0.087)
    return join(lathe(profile, plain((170, 180, 60)), None, (0.055,)), stem)


def pan() -> Solid:
    body = hollow(
        [(0, 0), (0.08, 0), (0.1, 0.04)], [(0, 0.004), (0.077, 0.004), (0.096, 0.04)], plain((50, 50, 54)), bands=1
    )
    handle = box((0.13, 0.022, 0.012), plain(BLACK)).at(x=0.163, z=0.034)
    return join(body, handle)


MUSTARD = smooth(
    [
        (0.042, 0),
        (0.046, 0.012),
        (0.047, 0.06),
        (0.041, 0.085),
        (0.044, 0.115),
        (0.034, 0.145),
        (0.018, 0.158),
        (0.017, 0.165),
    ]
)
KETCHUP = smooth([(0.03, 0), (0.032, 0.01), (0.031, 0.08), (0.026, 0.115), (0.016, 0.14), (0.0155, 0.148)])
WATER = smooth([(0.03, 0), (0.032, 0.006), (0.032, 0.12), (0.03, 0.14), (0.014, 0.185), (0.0135, 0.2)])
SHAKER = smooth([(0.018, 0), (0.019, 0.01), (0.019, 0.05), (0.016, 0.06)])


def capped(body: list[tuple[float, float]], cap: list[tuple[float, float]], rgb: Colour, **kind) -> Callable[[], Solid]:
    """A bottle with a cap on top of it, whose profile starts at its own zero."""

    def make() -> Solid:
        top = max(z for _, z in body)
        return join(bottle(body, **kind)(), lathe(cap, plain(rgb)).at(z=top))

    return make


SPOUT = [(0, 0), (0.018, 0), (0.018, 0.012), (0.008, 0.018), (0.006, 0.028), (0, 0.028)]
FLIP = [(0, 0), (0.0165, 0), (0.0155, 0.026), (0, 0.026)]

LIBRARY: dict[str, Made] = {}
for _name, _rgb in NAMED.items():
    LIBRARY[f"{_name}_cube"] = Made("cube", f"a {_name} wooden cube, 5 cm", 0.085, block((0.05, 0.05, 0.05), _rgb), 0.7)
for _name in ("red", "yellow", "blue"):
    LIBRARY[f"{_name}_block"] = Made(
        "block", f"a long {_name} wooden block", 0.13, block((0.1, 0.05, 0.04), NAMED[_name]), 0.7
    )
for _name in ("red", "green", "blue"):
    LIBRARY[f"{_name}_cylinder"] = Made(
        "cylinder", f"a {_name} wooden cylinder", 0.1, cylinder(0.025, 0.07, NAMED[_name]), 0.7
    )
LIBRARY |= {
    "small_wooden_cube": Made("cube", "a small cube of bare wood", 0.028, block((0.035, 0.035, 0.035), WOOD), 0.7),
    "large_wooden_cube": Made("cube", "a large cube of bare wood", 0.3, block((0.08, 0.08, 0.08), WOOD), 0.7),
    "foam_brick": Made("block", "a small brick-red foam block with three holes", 0.028, brick, 0.8),
    "tennis_ball": Made("ball", "a yellow-green ball", 0.058, ball(0.033, [(200, 220, 60)]), 0.8),
    "red_ball": Made("ball", "a red rubber ball", 0.12, ball(0.03, [RED]), 0.8),
    "beach_ball": Made("ball", "a ball with blue and white stripes", 0.09, ball(0.045, [BLUE, WHITE]), 0.7),
    "cracker_box": Made(
        "box",
        "a tall red carton of crackers",
        0.41,
        box_of((0.16, 0.065, 0.21), RED, (165, 18, 24), "CRACKERS", dots((230, 170, 70), 6, 1, True)),
    ),
    "cereal_box": Made(
        "box",
        "a tall blue carton of cereal with a bowl on the front",
        0.45,
        box_of((0.19, 0.06, 0.27), BLUE, YELLOW, "CEREAL", disc(CREAM), BLUE),
    ),
    "sugar_box": Made(
        "box",
        "a yellow and white carton of sugar",
        0.51,
        box_of((0.09, 0.045, 0.175), YELLOW, (240, 240, 240), "SUGAR", disc(WHITE, BLUE), BLUE),
    ),
    "pasta_box": Made(
        "box",
        "a flat blue carton of pasta",
        0.5,
        box_of((0.11, 0.04, 0.19), (30, 60, 130), RED, "PASTA", stripes(YELLOW)),
    ),
    "macaroni_box": Made(
        "box",
        "a flat yellow carton of macaroni and cheese",
        0.2,
        box_of((0.095, 0.035, 0.18), (245, 190, 40), BLUE, "MACARONI", stripes(ORANGE, 6)),
    ),
    "gelatin_box": Made(
        "box",
        "a small flat red carton of strawberry gelatin",
        0.1,
        box_of((0.085, 0.028, 0.073), (205, 40, 60), WHITE, "GELATIN", dots((250, 120, 130), 5, 2), RED),
        0.55,
    ),
    "pudding_box": Made(
        "box",
        "a flat brown carton of chocolate pudding",
        0.19,
        box_of((0.11, 0.036, 0.09), (92, 54, 36), WHITE, "PUDDING", disc((70, 40, 26)), BROWN),
        0.55,
    ),
    "raisin_box": Made(
        "box",
        "a small red carton of raisins",
        0.045,
        box_of((0.05, 0.022, 0.07), (176, 34, 40), YELLOW, "RAISINS", dots((70, 40, 60), 9, 3), RED),
    ),
    "oat_bars_box": Made(
        "box",
        "a green carton of oat bars",
        0.24,
        box_of((0.15, 0.05, 0.12), GREEN, WOOD, "OAT BARS", dots(CREAM, 8, 4)),
    ),
    "tea_box": Made(
        "box",
        "a small green carton of tea",
        0.09,
        box_of((0.12, 0.07, 0.065), (70, 110, 70), CREAM, "TEA", disc((150, 90, 40)), GREEN),
    ),
    "soup_can": Made(
        "can", "a red and white can of tomato soup", 0.35, can(0.034, 0.101, WHITE, RED, "TOMATO", disc(RED, YELLOW))
    ),
    "bean_can": Made(
        "can", "a green can of beans", 0.42, can(0.037, 0.11, GREEN, (20, 80, 50), "BEANS", dots((180, 110, 70), 8, 5))
    ),
    "tuna_can": Made("can", "a low blue can of tuna", 0.17, can(0.0425, 0.033, BLUE, NAVY, "TUNA", stripes(WHITE, 4))),
    "coffee_can": Made(
        "can", "a big blue can of coffee", 0.42, can(0.051, 0.139, (20, 50, 120), NAVY, "COFFEE", disc(BROWN, CREAM))
    ),
    "soda_can": Made(
        "can",
        "a slim red can of soda",
        0.36,
        can(0.033, 0.122, (200, 24, 40), (200, 24, 40), "SODA", stripes(WHITE, 3)),
    ),
    "cheese_shaker": Made(
        "can",
        "a green shaker of grated cheese",
        0.26,
        can(0.034, 0.15, (30, 110, 60), WHITE, "CHEESE", dots(CREAM, 9, 6), GREEN, (200, 40, 40)),
    ),
    "crisp_tube": Made(
        "can",
        "a tall red tube of crisps",
        0.2,
        can(0.0375, 0.25, (190, 30, 40), YELLOW, "CRISPS", dots(CREAM, 5, 7), RED, WHITE),
    ),
    "meat_tin": Made(
        "can",
        "a blue and yellow tin of meat with rounded corners",
        0.37,
        lambda: lathe(
            [(0, 0), (0.05, 0), (0.05, 0.08), (0, 0.08)],
            wrap(
                [(0, 0), (0.05, 0), (0.05, 0.08), (0, 0.08)],
                [(-1, (190, 170, 110)), (0.006, (30, 50, 110)), (0.074, (190, 170, 110))],
                (0.008, 0.072),
                front((190, 110), (30, 50, 110), YELLOW, "MEAT", disc((220, 130, 110)), NAVY),
            ),
            rounded_square(0.35, 6) * [1, 0.57],
        ),
    ),
    "mustard_bottle": Made(
        "bottle",
        "a yellow squeeze bottle of mustard",
        0.6,
        capped(
            MUSTARD,
            SPOUT,
            YELLOW,
            grounds=[(-1, YELLOW)],
            cuts=(0.085, 0.145),
            flat=0.68,
            label=(0.02, 0.12),
            face=front((220, 170), YELLOW, RED, "MUSTARD", disc(NAVY, YELLOW)),
        ),
    ),
    "ketchup_bottle": Made(
        "bottle",
        "a red squeeze bottle of ketchup with a white cap",
        0.4,
        capped(
            KETCHUP,
            FLIP,
            WHITE,
            grounds=[(-1, RED)],
            cuts=(0.115,),
            flat=0.75,
            label=(0.025, 0.085),
            face=front((200, 120), WHITE, GREEN, "KETCHUP", disc(RED)),
        ),
    ),
    "water_bottle": Made(
        "bottle",
        "a pale blue bottle of water",
        0.52,
        capped(
            WATER,
            [(0, 0), (0.015, 0), (0.015, 0.016), (0, 0.016)],
            BLUE,
            grounds=[(-1, (190, 214, 226))],
            cuts=(0.14,),
            label=(0.06, 0.115),
            face=front((200, 80), (230, 240, 245), BLUE, "WATER", stripes(BLUE, 3)),
        ),
    ),
    "steel_flask": Made(
        "bottle",
        "a steel flask with a black lid",
        0.38,
        capped(
            smooth([(0.034, 0), (0.036, 0.008), (0.036, 0.16), (0.026, 0.185), (0.025, 0.19)]),
            [(0, 0), (0.027, 0), (0.027, 0.035), (0, 0.035)],
            BLACK,
            grounds=[(-1, STEEL)],
            cuts=(0.16,),
        ),
    ),
    "cleanser_bottle": Made("bottle", "a white bottle of cleanser", 0.9, jug),
    "spray_bottle": Made("bottle", "a slim white spray bottle", 0.12, spray),
    "pepper_shaker": Made(
        "bottle",
        "a small dark shaker with a white lid",
        0.09,
        capped(SHAKER, [(0, 0), (0.0175, 0), (0.015, 0.018), (0, 0.018)], WHITE, grounds=[(-1, (30, 32, 52))], cuts=()),
    ),
    "juice_carton": Made("carton", "a carton of orange juice with a gable top", 1.0, gable),
    "white_bowl": Made("bowl", "a white bowl", 0.32, bowl(0.078, 0.056, WHITE), 0.5, True),
    "red_bowl": Made("bowl", "a red bowl", 0.3, bowl(0.08, 0.055, (160, 24, 34)), 0.5, True),
    "teal_bowl": Made("bowl", "a teal bowl", 0.34, bowl(0.082, 0.07, TEAL), 0.5, True),
    "wooden_bowl": Made("bowl", "a wide wooden bowl", 0.4, bowl(0.11, 0.065, WOOD, (176, 132, 86)), 0.6, True),
    "blue_mug": Made("mug", "a tall dark blue mug", 0.36, mug(0.042, 0.115, NAVY, 0.78), 0.5, True),
    "white_mug": Made("mug", "a white mug", 0.31, mug(0.041, 0.088, WHITE), 0.5, True),
    "red_mug": Made("mug", "a red enamel mug", 0.12, mug(0.046, 0.08, RED), 0.5, True),
    "yellow_cup": Made("cup", "a yellow plastic cup", 0.03, mug(0.038, 0.1, YELLOW, 0.74, False), 0.5, True),
    "green_cup": Made("cup", "a green plastic cup", 0.03, mug(0.036, 0.085, GREEN, 0.8, False), 0.5, True),
    "white_plate": Made("plate", "a white dinner plate", 0.5, plate(0.115, WHITE), 0.5, True),
    "blue_plate": Made("plate", "a blue side plate", 0.3, plate(0.085, BLUE), 0.5, True),
    "grey_tray": Made("tray", "a flat grey tray", 0.35, open_box((0.3, 0.21, 0.03), GREY, 0.95), 0.6, True),
    "white_bin": Made("bin", "a white storage bin", 0.25, open_box((0.22, 0.16, 0.1), WHITE), 0.6, True),
    "blue_bin": Made("bin", "a blue parts bin", 0.2, open_box((0.17, 0.13, 0.08), BLUE), 0.6, True),
    "square_red_bowl": Made(
        "bowl", "a square orange-red bowl", 0.2, open_box((0.16, 0.16, 0.065), (215, 70, 50), 0.72), 0.6, True
    ),
    "frying_pan": Made("pan", "a dark frying pan", 0.7, pan, 0.6, True),
    "red_book": Made(
        "book", "a red hardcover book lying flat", 0.45, book((0.15, 0.21, 0.028), (150, 36, 40), CREAM, "PHYSICS")
    ),
    "blue_notebook": Made("book", "a thin blue notebook", 0.2, book((0.14, 0.2, 0.012), (50, 80, 140), WHITE, "NOTES")),
    "screwdriver": Made("tool", "a screwdriver with a red handle", 0.12, screwdriver, 0.7),
    "hammer": Made("tool", "a hammer with a wooden handle", 0.55, hammer, 0.7),
    "drill": Made("tool", "an orange cordless drill standing on its battery", 1.2, drill, 0.7),
    "scissors": Made("tool", "scissors with blue handles", 0.06, scissors, 0.6),
    "blue_marker": Made("pen", "a white marker with a blue cap", 0.016, marker, 0.6),
    "tape_roll": Made("tape", "a roll of brown packing tape", 0.15, tape, 0.7),
    "toy_plane": Made("toy", "a toy biplane, red with green wings", 0.4, toy_plane, 0.6),
    "banana": Made("fruit", "a banana", 0.14, banana, 0.7),
    "apple": Made("fruit", "a red apple", 0.18, apple, 0.7),
    "orange": Made("fruit", "an orange", 0.2, ball(0.037, [(230, 120, 30)]), 0.7),
    "pear": Made("fruit", "a green pear", 0.17, pear, 0.7),
}


def write(id: str, made: Made, folder: Path) -> None:
    """One asset folder."""
    shutil.rmtree(folder / id, ignore_errors=True)
    about = {"caption": made.caption, "category": made.category, "mass": made.mass, "friction": made.friction}
    origin = {"container": made.container, "licence": "MIT", "provenance": "made by sample_scenes/make_library.py"}
    write_asset(made.solid(), folder / id, {"name": id.replace("_", " ")} | about | origin)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "library"
    for key, value in LIBRARY.items():
        write(key, value, target)
    print(f"{len(LIBRARY)} assets in {target}")
