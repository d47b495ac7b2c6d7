"""Defines the shapes and prints of the built-in library. All of them are original."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from PIL import Image
from print_designs import FaceDesign, RgbColour, carton_strip, disc_motif, face_strip, front_face, wrapped_label
from scipy.interpolate import PchipInterpolator

from pipeline.assets import solids
from pipeline.assets.solids import Solid, box, hollow_lathe, join, lathe, plain_texture, rounded_square, tube

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
NAMED_COLOURS = {"red": RED, "orange": ORANGE, "yellow": YELLOW, "green": GREEN, "blue": BLUE, "purple": PURPLE}


def block(size: tuple[float, float, float], rgb: RgbColour) -> Callable[[], Solid]:
    """Return a builder of a wooden block with slightly shaded faces."""

    def make() -> Solid:
        shade = [Image.new("RGB", (8, 8), tuple(int(k * c) for c in rgb)) for k in (1, 0.97, 0.99, 0.96, 1, 0.9)]
        return box(size, face_strip(shade))

    return make


def cylinder(radius: float, height: float, rgb: RgbColour) -> Callable[[], Solid]:
    """Return a builder of a plain cylinder."""
    return lambda: lathe([(0, 0), (radius, 0), (radius, height), (0, height)], plain_texture(rgb))


def ball(radius: float, grounds: list[RgbColour]) -> Callable[[], Solid]:
    """Return a builder of a sphere with stripes of the last colour."""
    bands = Image.new("RGB", (64, 32), grounds[0])
    for k in range(0, 64, 16):
        bands.paste(grounds[-1], (k, 0, k + 8, 32))
    return lambda: solids.ball(radius, bands)


def printed_box(size: tuple[float, float, float], design: FaceDesign) -> Callable[[], Solid]:
    """Return a builder of a carton of `size` in metres."""
    return lambda: box(size, carton_strip(size, design))


def can(radius: float, height: float, design: FaceDesign, lid: RgbColour = STEEL) -> Callable[[], Solid]:
    """Return a builder of a can with a printed label."""

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
        face = front_face((192, max(40, round(192 * height / (np.pi * radius)))), design)
        image = wrapped_label(
            profile,
            [(-1, lid), (0.001, lid), (0.03 * height, design.ground), (0.95 * height, lid)],
            (0.04 * height, 0.95 * height),
            face,
        )
        solid = lathe(profile, image)
        return Solid(solid.mesh, (solid.mesh.vertices,))

    return make


def bottle(
    points: list[tuple[float, float]],
    grounds: list[tuple[float, RgbColour]],
    cuts: tuple[float, ...],
    flat: float = 1.0,
    label: tuple[float, float] | None = None,
    face: Image.Image | None = None,
) -> Callable[[], Solid]:
    """Return a builder of a smooth bottle; `flat` is its depth over its width."""

    def make() -> Solid:
        outline = solids.circle() * [1, flat]
        return lathe(points, wrapped_label(points, grounds, label, face), outline, cuts)

    return make


def smooth_profile(points: list[tuple[float, float]], steps: int = 5) -> list[tuple[float, float]]:
    """Return a profile with rounded shoulders: monotone cubic between the points, base and top flat."""
    radius, height = np.array(points).T
    fine = np.unique(np.concatenate([np.linspace(a, b, steps) for a, b in pairwise(height)]))
    curve = PchipInterpolator(height, radius)(fine)
    return [(0.0, height[0]), *zip(curve.tolist(), fine.tolist(), strict=True), (0.0, height[-1])]


def bowl(radius: float, height: float, rgb: RgbColour, inside: RgbColour | None = None) -> Callable[[], Solid]:
    """Return a builder of a round bowl."""
    image = Image.new("RGB", (16, 64), rgb)
    image.paste(inside or rgb, (0, 0, 16, 31))
    return lambda: solids.bowl(radius, height, image)


def mug(radius: float, height: float, rgb: RgbColour, taper: float = 1.0, handle: bool = True) -> Callable[[], Solid]:
    """Return a builder of a mug, or of a cup without a handle."""

    def make() -> Solid:
        wall, base = 0.004, 0.006
        outer = [(0, 0), (radius * taper, 0), (radius, height)]
        inner = [(0, base), (radius * taper - wall, base), (radius - wall, height)]
        body = hollow_lathe(outer, inner, plain_texture(rgb), bands=1)
        if not handle:
            return body
        angle = np.linspace(-0.5, 0.5, 15) * np.pi
        path = np.c_[0.92 * radius + 0.62 * radius * np.cos(angle), 0 * angle, height * (0.5 + 0.3 * np.sin(angle))]
        path[0, 0] = np.interp(path[0, 2], [0, height], [radius * taper, radius]) - wall / 2
        path[-1, 0] = np.interp(path[-1, 2], [0, height], [radius * taper, radius]) - wall / 2
        return join(body, tube(path, 0.0055, plain_texture(rgb), sides=10, cuts=5))

    return make


def plate(radius: float, rgb: RgbColour) -> Callable[[], Solid]:
    """Return a builder of a plate."""
    outer = [(0, 0), (0.6 * radius, 0), (0.7 * radius, 0.01), (radius, 0.02)]
    inner = [(0, 0.004), (0.57 * radius, 0.004), (0.67 * radius, 0.014), (radius - 0.002, 0.02)]
    return lambda: hollow_lathe(outer, inner, plain_texture(rgb), bands=1)


def open_box(
    size: tuple[float, float, float], rgb: RgbColour, slant: float = 0.9, wall: float = 0.004
) -> Callable[[], Solid]:
    """Return a builder of a tray or a bin, of width, depth and height in metres."""

    def make() -> Solid:
        width, depth, height = size
        outline = rounded_square(0.18) * [1, depth / width]
        half = width / 2
        outer = [(0, 0), (half * slant, 0), (half, height)]
        inner = [(0, wall), (half * slant - wall, wall), (half - wall, height)]
        image = plain_texture(rgb)
        return hollow_lathe(outer, inner, image, outline, bands=1)

    return make


def book(size: tuple[float, float, float], rgb: RgbColour, accent: RgbColour, title: str) -> Callable[[], Solid]:
    """Return a builder of a book lying flat."""

    def make() -> Solid:
        x, y, z = size
        cover = front_face((round(900 * x), round(900 * y)), FaceDesign(rgb, accent, title, disc_motif(accent, rgb)))
        spine = Image.new("RGB", (round(900 * y), max(8, round(900 * z))), rgb)
        pages = Image.new("RGB", (round(900 * x), 12), (235, 230, 215))
        return box(size, face_strip([pages, pages, pages, spine, cover, Image.new("RGB", cover.size, rgb)]))

    return make


MUSTARD_PROFILE = smooth_profile(
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
KETCHUP_PROFILE = smooth_profile(
    [(0.03, 0), (0.032, 0.01), (0.031, 0.08), (0.026, 0.115), (0.016, 0.14), (0.0155, 0.148)]
)
WATER_PROFILE = smooth_profile([(0.03, 0), (0.032, 0.006), (0.032, 0.12), (0.03, 0.14), (0.014, 0.185), (0.0135, 0.2)])
SHAKER_PROFILE = smooth_profile([(0.018, 0), (0.019, 0.01), (0.019, 0.05), (0.016, 0.06)])


def capped_bottle(
    body: list[tuple[float, float]], cap: list[tuple[float, float]], rgb: RgbColour, **kind
) -> Callable[[], Solid]:
    """Return a builder of a bottle with a cap on top. The cap's profile starts at height 0."""

    def make() -> Solid:
        top = max(z for _, z in body)
        return join(bottle(body, **kind)(), lathe(cap, plain_texture(rgb)).translated(z=top))

    return make


SPOUT_CAP = [(0, 0), (0.018, 0), (0.018, 0.012), (0.008, 0.018), (0.006, 0.028), (0, 0.028)]
FLIP_CAP = [(0, 0), (0.0165, 0), (0.0155, 0.026), (0, 0.026)]
