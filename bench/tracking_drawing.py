"""Drawn RGB-D sequences with truth: a robot, half of the time with a person's forearm, picks, places and drops objects.

A sequence is a rollout of the oracle in a random scene of `bench.twin_drawing`, photographed 15 times a second by
MuJoCo with the errors of `sample_scenes.make_scenes.depth_camera`. `draw_sequence` is deterministic and is cached.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from bench import twin_drawing
from pipeline.assets import Library
from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene import rendering
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.simulation import kit
from pipeline.simulation.robots import robot_kind
from pipeline.solving.solution_files import save_model
from sample_scenes import make_scenes as studio

FRAMES = 100
RATE_HZ = 15.0
"""Pictures a second: half of what depth cameras deliver."""
SKIN = (0.82, 0.62, 0.5, 1.0)
HELD_S = 0.2
"""Seconds for which a contact has to hold or to be missing to count as a change of support."""
POSE_ERROR = 0.002, 2.0
"""Standard deviations of the twin's poses on the table at the start: metres, degrees of yaw."""


@dataclass(frozen=True, eq=False)
class DrawnSequence:
    """One drawn sequence with its truth."""

    name: str
    scene: Scene
    """The twin at the first frame, its poses slightly wrong as a twin's are."""
    times: np.ndarray
    """Of shape (T,), in seconds."""
    rgb: np.ndarray
    """Of shape (T, H, W, 3), uint8."""
    depth: np.ndarray
    """In tenths of a millimetre, of shape (T, H, W), uint16; 0 where unknown."""
    poses: np.ndarray
    """True world_from_object of each placement: metres and quaternion wxyz, of shape (T, K, 7)."""
    visible: np.ndarray
    """Pixels that show each object, of shape (T, K)."""
    unoccluded: np.ndarray
    """Largest number of such pixels in the sequence, of shape (K,)."""
    events: tuple[dict, ...]
    """{"time", "kind": picked, placed or fell, "object", "on"}."""

    def frame(self, index: int) -> Frame:
        k = self.scene.intrinsics
        assert k is not None
        depth = self.depth[index].astype(np.float32) * 1e-4
        return Frame(self.rgb[index], depth, k, np.asarray(self.scene.world_from_camera))


@dataclass(frozen=True, eq=False)
class _Motion:
    model: mujoco.MjModel
    times: np.ndarray
    qpos: np.ndarray


def draw_sequence(seed: int, library: Library, folder: Path) -> DrawnSequence:
    """Return the sequence of a seed, drawn unless the folder holds it."""
    home = folder / f"sequence_{seed:03}"
    if not (home / "truth.json").exists():
        _draw(seed, library, home)
    arrays = np.load(home / "frames.npz")
    truth = json.loads((home / "truth.json").read_text())
    return DrawnSequence(
        f"{seed:03} {truth['about']}", read_scene(home), arrays["times"], arrays["rgb"], arrays["depth"],
        arrays["poses"], arrays["visible"], arrays["visible"].max(0), tuple(truth["events"]),
    )  # fmt: skip


def _draw(seed: int, library: Library, home: Path) -> None:
    rng = np.random.default_rng([39, seed])
    kind = twin_drawing.KINDS[seed % len(twin_drawing.KINDS)]
    recipe = twin_drawing.random_recipe(kind, rng)
    home.mkdir(parents=True, exist_ok=True)
    while True:
        assets = twin_drawing._random_assets(rng, library, home / "meshes", int(rng.integers(4, 7)))
        scene = write_scene(twin_drawing.arrange_scene(kind, recipe, assets, rng), home)
        robot = "arm" if seed % 5 == 4 else "gripper"
        motion = _rollout(home, robot, rng, drops=seed % 4 == 3)
        if motion is not None:
            break
    forearm = robot == "gripper" and seed % 2 == 0
    names = [p.name for p in scene.placements]
    times = motion.times[0] + np.arange(FRAMES) / RATE_HZ
    chosen = np.searchsorted(motion.times, times).clip(0, len(motion.times) - 1)
    rgb, depth, visible = zip(*_photographs(home, recipe, motion.qpos[chosen], names, forearm, rng), strict=True)
    addresses = [int(motion.model.joint(name).qposadr[0]) for name in names]
    poses = np.stack([motion.qpos[chosen, a : a + 7] for a in addresses], 1)
    shown = np.array(visible)
    events = [e for e in _events(motion, names) if _is_shown(e, shown[:, names.index(e["object"])])]
    write_scene(_measured(scene, poses[0], rng), home)
    np.savez(
        home / "frames.npz", times=times - times[0], rgb=np.array(rgb), depth=np.array(depth), poses=poses,
        visible=shown,
    )  # fmt: skip
    about = f"{kind}, {robot}{', forearm' if forearm else ''}"
    (home / "truth.json").write_text(json.dumps({"about": about, "events": events}))


def _is_shown(event: dict, visible: np.ndarray) -> bool:
    """Whether a change of an object's support lies within the pictures, in time and place."""
    index = round(event["time"] * RATE_HZ)
    return index < FRAMES - HELD_S * RATE_HZ and bool(visible[max(index - 2, 0) : index + 3].any())


def _measured(scene: Scene, poses: np.ndarray, rng: np.random.Generator) -> Scene:
    """Return the scene as a twin has it: at the true poses with small errors on the table."""

    def placed(p: Placement, pose: np.ndarray) -> Placement:
        shift = np.append(rng.normal(0, POSE_ERROR[0], 2), 0)
        turn = twin_drawing._rotation_about_z(np.radians(rng.normal(0, POSE_ERROR[1])))
        true = Pose(pose[:3], pose[3:])
        return replace(p, world_from_object=Pose.from_rotation(true.pos + shift, turn @ true.rotation))

    return replace(scene, placements=tuple(map(placed, scene.placements, poses)))


# ---------------------------------------------------------------------- the motion


def _rollout(home: Path, robot: str, rng: np.random.Generator, drops: bool) -> _Motion | None:
    """Return what the oracle does for one to three random goals, None for nothing; with `drops` the last is lost."""
    scene = kit.Scene.load(home)
    if robot != "gripper":
        scene = replace(scene, robot=robot_kind(robot).make(True))
    sim = kit.Simulation(scene, 0)
    movable = [o.name for o in sim.objects if not o.container]
    names = [str(n) for n in rng.permutation(movable)[: 1 if robot == "arm" else int(rng.integers(2, 4))]]
    taken: list[tuple[float, float]] = []
    for name in names:
        under = [o for o in sim.objects if o.name not in names and o.size[:2].min() > 0.05 and _is_flat(o)]
        try:
            if under and rng.random() < 0.35:
                sim.goal(kit.on(name, under[int(rng.integers(len(under)))].name))
            else:
                taken.append(sim.free_spot(sim[name].radius + 0.02, rng.uniform(-0.25, 0.25, 2), clear_of=taken))
                sim.goal(kit.at(name, taken[-1]))
        except kit.KitError:
            continue
    if not sim.stages:
        return None
    run = sim.rollout()
    picks = [e for e in run.events if e.verb == "pick" and e.ok]
    if not picks or not run.solved:
        return None
    model = mujoco.MjModel.from_xml_path(str(save_model(run.xml, home, "run")))
    first = max(0.0, picks[0].time - 1.2)
    times, qpos = np.array(run.times), run.qpos
    keep = (times >= first) & np.concatenate(([True], np.diff(times) > 0))
    motion = _Motion(model, times[keep] - first, qpos[keep])
    last = [e for e in run.events if e.verb in ("place", "move aside") and e.time > picks[-1].time]
    if drops and last and robot == "gripper":
        motion = _dropped(motion, picks[-1].object, (picks[-1].time + 0.5 * (last[0].time - picks[-1].time)) - first)
    return motion


def _is_flat(o: kit.Object) -> bool:
    """Whether nothing rolls off an object's top."""
    return not any(
        word in o.name for word in ("sphere", "ball", "apple", "orange", "lemon", "peach", "pear", "cylinder")
    )


def _dropped(motion: _Motion, name: str, time: float) -> _Motion:
    """Return the motion until a time, then what physics makes of an object that is let go."""
    model, data = motion.model, mujoco.MjData(motion.model)
    at = int(np.searchsorted(motion.times, time))
    data.qpos[:] = motion.qpos[at]
    mujoco.mj_differentiatePos(
        model, data.qvel, motion.times[at] - motion.times[at - 1], motion.qpos[at - 1], data.qpos
    )
    free = model.joint(name).dofadr[0]
    speed = data.qvel[free : free + 6].copy()
    data.qvel[:] = 0
    data.qvel[free : free + 6] = speed
    data.eq_active[:] = 0
    slides = [model.joint(f"gripper_{axis}").qposadr[0] for axis in ("x", "y", "z", "yaw")]
    data.ctrl[:4] = motion.qpos[at][slides]
    times, qpos = [], []
    for step in range(round(2.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
        if step % 16 == 15:
            times.append(motion.times[at] + data.time)
            qpos.append(data.qpos.copy())
    return _Motion(model, np.append(motion.times[: at + 1], times), np.vstack([motion.qpos[: at + 1], qpos]))


# ---------------------------------------------------------------------- the truth


def _events(motion: _Motion, names: Sequence[str]) -> list[dict]:
    """Return the changes of support: an object without any contact but the robot's was picked or falls."""
    model, data = motion.model, mujoco.MjData(motion.model)
    bodies = {model.body(name).id: name for name in names}
    root = model.body_rootid[model.geom_bodyid]
    fixed = {int(model.body(name).id) for name in ("world",)} | {
        int(b) for b in range(model.nbody) if model.body_weldid[b] == 0
    }
    model.geom_margin[:] = model.body_margin[:] = 0.001
    under: dict[str, list[str]] = {name: [] for name in names}
    for qpos in motion.qpos:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        found: dict[str, set[str]] = {name: set() for name in names}
        for contact in data.contact[: data.ncon]:
            a, b = (int(root[g]) for g in contact.geom)
            for one, other, up in ((a, b, -contact.frame[2]), (b, a, contact.frame[2])):
                if one not in bodies:
                    continue
                if other in bodies and up > 0.4:
                    found[bodies[one]].add(bodies[other])
                elif other in fixed and up > 0.4:
                    found[bodies[one]].add("table")
        for name in names:
            under[name].append(sorted(found[name])[0] if found[name] else "")
    return sorted((e for name in names for e in _changes(name, motion, under[name])), key=lambda e: e["time"])


def _changes(name: str, motion: _Motion, under: Sequence[str]) -> Iterator[dict]:
    times, now, since = motion.times, under[0], 0
    address = int(motion.model.joint(name).qposadr[0])
    path = motion.qpos[:, address : address + 3]
    in_air = not under[0]
    for i, on in enumerate(under):
        if on != now:
            now, since = on, i
        lasts = next((times[j] for j in range(i, len(under)) if under[j] != on), times[-1] + 1) - times[since]
        if not in_air and not on and lasts > HELD_S:
            in_air = True
            yield {"time": float(times[since]), "kind": "picked", "object": name, "on": ""}
        elif in_air and on and lasts > HELD_S:
            in_air = False
            drop = path[max(since - 3, 0) : since + 1, 2]
            speed = (
                float(-np.diff(drop).min() / np.diff(times[max(since - 3, 0) : since + 1]).max())
                if len(drop) > 1
                else 0
            )
            yield {"time": float(times[since]), "kind": "fell" if speed > 0.5 else "placed", "object": name, "on": on}


# ---------------------------------------------------------------------- the photographs


def _photographs(
    home: Path, recipe: studio.SceneRecipe, qpos: np.ndarray, names: Sequence[str], forearm: bool,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:  # fmt: skip
    """Yield colour (H, W, 3), depth (H, W) in tenths of a millimetre and the visible pixels of each object."""
    spec = mujoco.MjSpec.from_file(str(home / "scene" / "run.xml"))
    studio.furnish(spec, recipe)
    if forearm:
        hand = spec.body("gripper")
        for start, end, radius in (
            ([0, -0.005, 0.05], [0, -0.02, 0.12], 0.03),
            ([0, -0.02, 0.12], [0.05, -0.32, 0.24], 0.038),
        ):
            hand.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[*start, *end], size=[radius, 0, 0], group=1,
                          contype=0, conaffinity=0, mass=0, rgba=SKIN)  # fmt: skip
    # without multisampling, and with small shadows, drawing without a GPU takes a third of the time
    spec.visual.quality.offsamples, spec.visual.quality.shadowsize = 0, 1024
    model = spec.compile()
    k = studio.camera_intrinsics(recipe)
    roots = [model.body(name).id for name in names]
    for rgb, depth, labels in _rendered(model, recipe.size, qpos):
        rgb = studio.through_lens(rgb, rng)
        measured = studio.depth_camera(depth, rgb, k, rng)
        yield (
            rgb,
            np.round(measured / 1e-4).clip(0, 65535).astype(np.uint16),
            np.array([(labels == r).sum() for r in roots]),
        )


def _rendered(
    model: mujoco.MjModel, size: tuple[int, int], qpos: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    data = mujoco.MjData(model)
    renderer = rendering.run_in_render_thread(rendering.open_renderer, model, size)

    def draw(pose: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        data.qpos[:] = pose
        mujoco.mj_forward(model, data)
        renderer.update_scene(data, "photo")
        rgb = renderer.render().copy()
        renderer.enable_depth_rendering()
        depth = renderer.render().copy()
        renderer.disable_depth_rendering()
        renderer.enable_segmentation_rendering()
        geoms = renderer.render()[..., 0]
        renderer.disable_segmentation_rendering()
        labels = np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], 0)
        return rgb, np.where(geoms >= 0, depth, 0).astype(np.float32), labels

    try:
        for pose in qpos:
            yield rendering.run_in_render_thread(draw, pose)
    finally:
        rendering.run_in_render_thread(renderer.close)
