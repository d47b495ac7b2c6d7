"""Defines assets of the built-in library that are made of several shapes. All of them are original."""

import mujoco
import numpy as np
from asset_designs import (
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    GREEN,
    GREY,
    ORANGE,
    RED,
    STEEL,
    TEAL,
    WHITE,
    WOOD,
    YELLOW,
    smooth_profile,
)
from PIL import Image, ImageDraw
from print_designs import FaceDesign, carton_strip, disc_motif, face_strip, front_face, wrapped_label
from scipy.spatial.transform import Rotation

from pipeline.assets import solids
from pipeline.assets.solids import Solid, box, extrude, hollow_lathe, join, lathe, plain_texture, rounded_square, tube


def brick() -> Solid:
    """Return a small foam brick with three holes in its face."""
    face = Image.new("RGB", (120, 76), (140, 52, 40))
    for x in (26, 60, 94):
        ImageDraw.Draw(face).ellipse((x - 10, 28, x + 10, 48), (70, 24, 20))
    edge = Image.new("RGB", (120, 76), (134, 50, 38))
    return box((0.078, 0.051, 0.053), face_strip([edge, edge, edge, edge, face, face]))


def gable() -> Solid:
    """Return a juice carton with a sloping roof and a cap."""
    w, body, roof = 0.075, 0.19, 0.045
    size = (w, w, body)
    sides = box(size, carton_strip(size, FaceDesign(WHITE, ORANGE, "ORANGE", disc_motif(ORANGE), WHITE)))
    half = w / 2
    slope = np.array([(-half, 0), (half, 0), (0.002, roof), (-0.002, roof)])
    top = extrude(slope, w, plain_texture(ORANGE)).rotated(90, [1, 0, 0]).translated(z=body / 2)
    fin = box((0.004, w, 0.018), plain_texture(WHITE)).translated(z=body / 2 + roof + 0.008)
    cap = (
        lathe([(0, 0), (0.014, 0), (0.014, 0.014), (0, 0.014)], plain_texture(GREEN))
        .rotated(59, [0, 1, 0])
        .translated(x=0.017, z=body / 2 + 0.022)
    )
    return join(sides, top, fin, cap)


def jug() -> Solid:
    """Return a cleanser bottle, wide and flat, with a slanted shoulder and a cap."""
    points = [(0.05, 0), (0.052, 0.05), (0.05, 0.15), (0.042, 0.185), (0.022, 0.21), (0.02, 0.218)]
    profile = smooth_profile(points)
    face = front_face((220, 250), FaceDesign(WHITE, BLUE, "CLEANSER", disc_motif(YELLOW, BLUE)))
    body = lathe(
        profile, wrapped_label(profile, [(-1, WHITE)], (0.03, 0.15), face), solids.circle() * [1, 0.62], (0.15, 0.205)
    )
    cap = lathe([(0, 0), (0.02, 0), (0.018, 0.03), (0, 0.03)], plain_texture(STEEL)).translated(z=0.218)
    return join(body, cap)


def spray() -> Solid:
    """Return a spray bottle with a nozzle."""
    profile = smooth_profile([(0.019, 0), (0.02, 0.03), (0.02, 0.095), (0.011, 0.115), (0.0105, 0.125)])
    face = front_face((150, 150), FaceDesign(WHITE, TEAL, "CLEAN", disc_motif(TEAL)))
    body = lathe(profile, wrapped_label(profile, [(-1, WHITE)], (0.02, 0.09), face), None, (0.095,))
    head = lathe([(0, 0), (0.012, 0), (0.011, 0.022), (0.007, 0.03), (0, 0.03)], plain_texture(WHITE)).translated(
        z=0.125
    )
    nozzle = box((0.016, 0.008, 0.008), plain_texture(GREY)).translated(x=0.012, z=0.148)
    return join(body, head, nozzle)


def settled(solid: Solid) -> Solid:
    """Return the solid as it lies on a table after a short fall, without the change of position."""
    spec = mujoco.MjSpec()
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    body = spec.worldbody.add_body(pos=[0, 0, 0.002 - solid.mesh.bounds[0, 2]])
    body.add_freejoint()
    for k, part in enumerate(solid.convex_parts):
        spec.add_mesh(name=f"m{k}", uservert=part.vertices.ravel(), userface=part.faces.ravel())
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{k}", friction=[0.9, 0.02, 0.005], condim=6)
    model = spec.compile()
    data = mujoco.MjData(model)
    while data.time < 6:
        mujoco.mj_step(model, data)
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_quat(data.qpos[3:7], scalar_first=True).as_matrix()
    return solid.transformed(turn)


def screwdriver() -> Solid:
    """Return a screwdriver lying on a table."""
    handle = lathe(
        smooth_profile([(0.011, 0), (0.014, 0.012), (0.015, 0.06), (0.011, 0.085), (0.008, 0.095)]),
        plain_texture(RED),
        rounded_square(0.3),
        (0.06,),
    )
    shaft = lathe([(0, 0), (0.0032, 0), (0.0032, 0.1), (0.0012, 0.108), (0, 0.108)], plain_texture(STEEL)).translated(
        z=0.095
    )
    return settled(join(handle, shaft).rotated(90, [0, 1, 0]))


def hammer() -> Solid:
    """Return a hammer lying on a table."""
    handle = lathe(
        smooth_profile([(0.013, 0), (0.015, 0.06), (0.011, 0.2), (0.011, 0.235)]), plain_texture(WOOD), None, (0.12,)
    )
    head = lathe(
        [(0, -0.05), (0.014, -0.05), (0.014, -0.03), (0.012, -0.02), (0.012, 0.02), (0.004, 0.055), (0, 0.055)],
        plain_texture((60, 62, 66)),
    )
    return settled(join(handle.rotated(90, [0, 1, 0]), head.rotated(90, [1, 0, 0]).translated(x=0.235)))


def banana() -> Solid:
    """Return a banana."""
    angle = np.linspace(-0.55, 0.55, 19)
    path = np.c_[0.17 * np.sin(angle), 0.17 * (1 - np.cos(angle)), 0 * angle]
    radii = 0.0185 * np.clip(2.2 * (1 - np.abs(np.linspace(-1, 1, 19)) ** 4), 0.2, 1)
    skin = Image.new("RGB", (16, 64), (232, 196, 52))
    skin.paste((96, 72, 36), (0, 0, 16, 4))
    skin.paste((96, 72, 36), (0, 60, 16, 64))
    return tube(path, radii, skin, sides=12, cuts=6)


def apple() -> Solid:
    """Return an apple."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 21)
    radius = np.cos(angle) * (1 + 0.12 * np.sin(angle))
    height = 0.92 * np.sin(angle) * (1 - 0.35 * np.abs(np.sin(angle)) ** 8)
    profile = np.c_[radius, height] * 0.037
    profile = profile[np.argmin(profile[:, 1]) :]  # it stands on the ring around its lower dimple, which is flat here
    profile = np.vstack([[0, profile[0, 1]], profile])
    profile[-1, 0] = 0
    skin = wrapped_label(profile.tolist(), [(-1, (190, 40, 36)), (0.018, (205, 90, 50)), (0.026, (150, 150, 60))])
    stem = lathe([(0, 0), (0.0015, 0), (0.0015, 0.014), (0, 0.014)], plain_texture(BROWN)).translated(
        z=profile[:, 1].max() - 0.003
    )
    return join(lathe(profile, skin), stem)


def toy_plane() -> Solid:
    """Return a toy biplane."""
    fuselage = (
        lathe(
            smooth_profile([(0.012, 0), (0.022, 0.05), (0.028, 0.15), (0.024, 0.19)]), plain_texture(RED), None, (0.15,)
        )
        .rotated(90, [0, 1, 0])
        .translated(x=-0.1)
    )
    wing = box((0.06, 0.24, 0.008), plain_texture((30, 110, 100)))
    struts = [box((0.008, 0.008, 0.07), plain_texture(YELLOW)).translated(x=0.045, y=y, z=0.012) for y in (-0.08, 0.08)]
    tail = box((0.03, 0.09, 0.006), plain_texture((30, 110, 100))).translated(x=-0.09, z=0.01)
    fin = box((0.03, 0.006, 0.045), plain_texture(YELLOW)).translated(x=-0.09, z=0.035)
    screw = box((0.006, 0.016, 0.1), plain_texture(CREAM)).translated(x=0.098)
    wheel = lathe([(0, -0.006), (0.02, -0.006), (0.02, 0.006), (0, 0.006)], plain_texture(BLACK)).rotated(90, [1, 0, 0])
    wheels = [wheel.translated(x=0.05, y=y, z=-0.036) for y in (-0.04, 0.04)]
    skid = box((0.02, 0.01, 0.044), plain_texture(BLACK)).translated(x=-0.085, z=-0.034)
    return join(
        fuselage,
        wing.translated(x=0.045, z=-0.024),
        wing.translated(x=0.045, z=0.05),
        *struts,
        tail,
        fin,
        screw,
        *wheels,
        skid,
    )


def drill() -> Solid:
    """Return a cordless drill standing on its battery."""
    battery = box((0.085, 0.06, 0.045), plain_texture(BLACK)).translated(z=0.0225)
    grip = box((0.034, 0.036, 0.085), plain_texture(ORANGE)).translated(x=-0.006, z=0.0875)
    motor = lathe(
        [(0, -0.065), (0.026, -0.065), (0.03, -0.05), (0.03, 0.04), (0.022, 0.058), (0, 0.058)], plain_texture(ORANGE)
    )
    chuck = lathe([(0, 0), (0.02, 0), (0.018, 0.03), (0.008, 0.045), (0, 0.045)], plain_texture(BLACK)).translated(
        z=0.058
    )
    bit = lathe([(0, 0), (0.003, 0), (0.003, 0.03), (0, 0.03)], plain_texture(STEEL)).translated(z=0.1)
    top = join(motor, chuck, bit).rotated(90, [0, 1, 0]).translated(x=-0.005, z=0.155)
    return join(battery, grip, top)


def scissors() -> Solid:
    """Return a pair of scissors."""
    blade = extrude(np.array([(0, -0.006), (0.09, 0), (0.09, 0.0015), (0, 0.006)]), 0.004, plain_texture(STEEL))
    angle = np.linspace(0, 2 * np.pi, 17)
    loop = tube(
        np.c_[0.022 * np.cos(angle) - 0.028, 0.017 * np.sin(angle), 0 * angle],
        0.0045,
        plain_texture(BLUE),
        sides=8,
        cuts=8,
    )
    half = join(blade, loop.translated(y=-0.012))
    other = half.transformed(np.diag([1.0, -1, -1, 1]))  # the same half, rotated by 180 degrees about x
    return join(half.rotated(9, [0, 0, 1]).translated(z=0.0045), other.rotated(-9, [0, 0, 1]).translated(z=0.0045))


def marker() -> Solid:
    """Return a marker lying on its side."""
    return lathe(
        [(0, 0), (0.009, 0), (0.0095, 0.09), (0.0095, 0.135), (0, 0.135)],
        wrapped_label([(0, 0), (0.009, 0), (0.0095, 0.09), (0.0095, 0.135), (0, 0.135)], [(-1, WHITE), (0.09, BLUE)]),
    ).rotated(90, [0, 1, 0])


def tape() -> Solid:
    """Return a roll of tape lying flat: a ring with a thin bottom."""
    return hollow_lathe(
        [(0, 0), (0.045, 0), (0.045, 0.024)],
        [(0, 0.002), (0.034, 0.002), (0.034, 0.024)],
        plain_texture((200, 170, 110)),
        bands=1,
    )


def pear() -> Solid:
    """Return a pear."""
    profile = smooth_profile([(0.012, 0), (0.03, 0.012), (0.034, 0.03), (0.026, 0.055), (0.015, 0.078), (0.006, 0.088)])
    stem = lathe([(0, 0), (0.0015, 0), (0.0015, 0.015), (0, 0.015)], plain_texture(BROWN)).translated(z=0.087)
    return join(lathe(profile, plain_texture((170, 180, 60)), None, (0.055,)), stem)


def pan() -> Solid:
    """Return a frying pan."""
    body = hollow_lathe(
        [(0, 0), (0.08, 0), (0.1, 0.04)],
        [(0, 0.004), (0.077, 0.004), (0.096, 0.04)],
        plain_texture((50, 50, 54)),
        bands=1,
    )
    handle = box((0.13, 0.022, 0.012), plain_texture(BLACK)).translated(x=0.163, z=0.034)
    return join(body, handle)
