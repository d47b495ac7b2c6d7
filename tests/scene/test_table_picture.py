"""The twin looks as in the photograph: its table, what is around it, the light, recoloured assets, and furniture."""

import io
from dataclasses import replace
from pathlib import Path

import cabinet
import cv2
import drawn_scene as make
import mujoco
import numpy as np
import pytest
from offline_studio import offline_services
from PIL import Image
from scipy.spatial.transform import Rotation

from bench.appearance.likeness import structural_similarity
from bench.twin_drawing import asset_placement, photograph_scene
from pipeline.assets import Library
from pipeline.assets.importers.asset_import import import_asset
from pipeline.decisions import Decision
from pipeline.description import Attributes
from pipeline.description.colour import name_colour
from pipeline.frame import Frame, Observation, load
from pipeline.geometry import Pose, transform
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.run import run_stages
from pipeline.scene import rendering, scene_files
from pipeline.scene.appearance import recolour
from pipeline.scene.appearance.light import estimate_light
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.background import keep_background, load_model, make_background, write_background
from pipeline.scene.mjcf.table_picture import table_picture, table_pixels
from pipeline.scene.overrides import overrides_from_decisions
from pipeline.scene.placement import Light, Scene
from pipeline.scene.rendering import open_renderer, render_model, render_twin, run_in_render_thread
from pipeline.scene.rotation_from_print import appearance_correlation
from pipeline.segmentation import Segment
from sample_scenes import make_scenes as studio

QUADRANTS = np.array([[200, 90, 80], [90, 190, 90], [80, 100, 200], [190, 180, 80]], np.uint8)
OBJECT_RGB = (250, 0, 250)


@pytest.fixture
def painted(tmp_path):
    objects = (
        make.placement(make.box(tmp_path), "box", (0.08, 0.02), yaw=0.4, rgb=OBJECT_RGB),
        make.placement(make.can(tmp_path), "can", (-0.1, 0.06), number=2, rgb=OBJECT_RGB),
    )
    scene = make.scene(*objects)
    frame, support, segments = make.photograph(scene)
    k = frame.intrinsics
    rows, columns = np.indices(frame.depth.shape)
    rays = np.stack([(columns - k.cx) / k.fx, (rows - k.cy) / k.fy, np.ones(rows.shape)], -1)
    x, y, z = np.moveaxis(transform(scene.world_from_camera, rays * frame.depth[..., None]), -1, 0)
    low, high = make.TABLE.min(0), make.TABLE.max(0)
    on_table = (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]) & (np.abs(z) < 1e-3)
    rgb = np.where(on_table[..., None], QUADRANTS[(x > 0) + 2 * (y > 0)], frame.rgb).astype(np.uint8)
    return scene, Observation(replace(frame, rgb=rgb), replace(support, inliers=on_table)), segments


def with_picture(scene, observation, segments):
    return replace(scene, table_png=table_picture(observation, segments, builder.table_slab(scene)))


def pixels_of(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def hue(rgb):
    return rgb / np.maximum(np.linalg.norm(rgb, axis=-1, keepdims=True), 1)


def test_the_twin_through_the_photographs_camera_shows_the_photographs_table_without_objects(painted, tmp_path):
    scene, observation, segments = painted
    builder.write_mjcf(with_picture(scene, observation, segments), tmp_path / "twin")
    rendered = render_twin(tmp_path / "twin", (make.CAMERA.width, make.CAMERA.height))
    hidden = cv2.dilate(np.any([s.mask for s in segments], axis=0).astype(np.uint8), np.ones((15, 15))) > 0
    table = (rendered.labels == 0) & (rendered.depth > 0) & observation.support.inliers & ~hidden
    likeness = (hue(observation.frame.rgb.astype(float)) * hue(rendered.rgb.astype(float))).sum(-1)
    assert np.mean(likeness[table] > 0.99) > 0.97
    picture = pixels_of(with_picture(scene, observation, segments).table_png).astype(float)
    assert np.min(np.linalg.norm(picture - OBJECT_RGB, axis=-1)) > 60


def test_pixels_without_depth_count_by_their_colour_shadows_are_not_painted_and_the_picture_is_kept(painted, tmp_path):
    scene, observation, segments = painted
    depth, rgb = observation.frame.depth.copy(), observation.frame.rgb.copy()
    depth[150:210, 60:130] = 0
    same = replace(observation, frame=replace(observation.frame, depth=depth))
    rgb[165:195, 80:110] = (5, 250, 250)
    other = replace(observation, frame=replace(observation.frame, depth=depth, rgb=rgb))
    whole = pixels_of(with_picture(scene, observation, segments).table_png).astype(float)
    without_depth = pixels_of(with_picture(scene, same, segments).table_png).astype(float)
    foreign = pixels_of(with_picture(scene, other, segments).table_png).astype(float)
    assert np.median(np.abs(whole - without_depth)) < 1
    assert np.min(np.linalg.norm(foreign - (5, 250, 250), axis=-1)) > 60
    rgb = np.full_like(observation.frame.rgb, 180)
    rgb[150:190, 60:120] = 100
    shaded = replace(observation, frame=replace(observation.frame, rgb=rgb))
    picture = pixels_of(with_picture(scene, shaded, segments).table_png)
    assert picture.min() > 150
    everything = replace(segments[0], mask=np.ones_like(segments[0].mask))
    assert table_picture(observation, [everything], builder.table_slab(scene)) is None
    scene, project = with_picture(*painted), tmp_path / "project"
    scene_files.write_scene(scene, project)
    assert scene_files.read_scene(project).table_png == scene.table_png
    scene_files.write_scene(replace(scene_files.read_scene(project), table_png=None), project)
    assert scene_files.read_scene(project).table_png is None


def test_the_table_is_as_photographed_also_along_a_side_where_no_depth_was_measured(painted):
    scene, observation, segments = painted
    frame = observation.frame
    side = observation.support.inliers & (transform(scene.world_from_camera, frame.points)[..., 0] < -0.05)
    unmeasured = replace(frame, depth=np.where(side, np.float32(0), frame.depth))
    support = replace(observation.support, polygon=np.maximum(observation.support.polygon, (-0.05, -9)))
    shown, still = (table_pixels(one, segments) & side for one in (observation, Observation(unmeasured, support)))
    assert still.sum() > 0.9 * shown.sum() > 1000 and (still & shown).sum() > 0.9 * still.sum()


def direction(azimuth_deg, elevation_deg):
    azimuth, elevation = np.deg2rad([azimuth_deg, elevation_deg])
    flat = np.cos(elevation) * np.array([np.cos(azimuth), np.sin(azimuth)])
    return np.append(flat, np.sin(elevation))


@pytest.mark.parametrize("azimuth", [20, 140])
def test_a_light_that_casts_shadows_is_found_within_15_degrees(azimuth, tmp_path):
    towards = direction(azimuth, 50)
    scene = make.scene(
        make.placement(make.box(tmp_path), "box", (0.08, 0.02), yaw=0.4),
        make.placement(make.can(tmp_path), "can", (-0.1, 0.06), number=2),
    )
    frame, _, segments = make.photograph(scene)
    spec = builder.build_spec(scene)
    lamp = spec.light(builder.MAIN_LIGHT)
    lamp.type, lamp.dir, lamp.pos = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, -towards, 1.5 * towards
    lamp.diffuse, spec.visual.headlight.ambient = [0.4] * 3, [0.3] * 3
    rgb = render_model(spec.compile(), (make.CAMERA.width, make.CAMERA.height)).rgb
    rgb = np.clip(rgb + np.random.default_rng(0).normal(0, 3, rgb.shape), 0, 255).astype(np.uint8)
    not_in_the_twin = Segment(9, np.zeros(frame.depth.shape, bool), 1.0, "test")
    light = estimate_light(replace(frame, rgb=rgb), (*segments, not_in_the_twin), scene)
    assert light is not None and np.linalg.norm(light.direction) == pytest.approx(1)
    assert np.degrees(np.arccos(light.direction @ towards)) < 15


def test_the_twin_is_lit_from_the_estimated_direction_and_none_is_claimed_under_even_light(photographed, tmp_path):
    scene, frame, segments = photographed
    even = np.clip(130 + np.random.default_rng(1).normal(0, 6, frame.rgb.shape), 0, 255).astype(np.uint8)
    assert estimate_light(replace(frame, rgb=even), segments, scene) is None
    assert estimate_light(frame, (), replace(scene, placements=())) is None
    light = Light(direction(140, 50), 0.2)
    scene_files.write_scene(replace(photographed[0], light=light), tmp_path)
    read = scene_files.read_scene(tmp_path)
    assert read.light is not None
    assert read.light.direction == pytest.approx(light.direction) and read.light.spread == light.spread
    lit, even_lit = builder.load_spec(tmp_path / "scene"), builder.build_spec(replace(scene, light=None))
    lamp = lit.light(builder.MAIN_LIGHT)
    assert -np.asarray(lamp.dir) == pytest.approx(light.direction, abs=1e-6)
    assert even_lit.light(builder.MAIN_LIGHT).diffuse[0] < lamp.diffuse[0] / 2, "shadows that nobody saw are faint"
    assert even_lit.visual.headlight.ambient[0] > lit.visual.headlight.ambient[0]


RED, WHITE, TEAL = (190, 30, 40), (228, 226, 230), (40, 150, 140)


def measured(rgb) -> Attributes:
    name, _ = name_colour(np.full((50, 3), rgb, np.uint8))
    return Attributes(name, rgb, "irregular", np.full(3, 0.1), 0.0, np.zeros(3), 0.001)


def library_mesh(name) -> Path:
    return SAMPLE_SCENES / "library" / name / "mesh.obj"


def test_an_asset_is_recoloured_if_the_object_has_another_colour_and_the_matcher_or_a_person_do_not_object():
    for asset, seen in (("red_bowl", WHITE), ("wooden_bowl", RED), ("white_mug", TEAL)):
        assert recolour.seen_colour(library_mesh(asset), measured(seen), 0.05, None) == seen
    for asset, seen in (("red_bowl", RED), ("white_mug", WHITE), ("teal_bowl", TEAL)):
        assert recolour.seen_colour(library_mesh(asset), measured(seen), 0.05, None) is None
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(WHITE), 0.6, None) is None
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(WHITE), 0.05, False) is None
    assert recolour.seen_colour(library_mesh("red_bowl"), measured(RED), 0.9, True) == RED
    off = Decision("recolour", {"id": 1, "value": False})
    assert overrides_from_decisions([off])[1].recolour is False
    chosen = Decision("choose_asset", {"id": 1, "asset_id": "red_mug"})
    assert overrides_from_decisions([off, chosen])[1].recolour is None


def test_tinting_moves_the_main_colour_also_in_the_exported_twin_which_can_be_written_again(tmp_path):
    picture = np.zeros((4, 8, 3), np.uint8)
    picture[:, :4], picture[:, 4:] = RED, (40, 60, 190)
    tinted = recolour.tinted(picture, RED, TEAL)
    assert np.abs(tinted[:, :4].astype(int) - TEAL).max() <= 2
    assert np.abs(tinted[:, 4:].astype(int) - picture[:, 4:]).max() <= 12
    mesh = library_mesh("red_bowl")
    bowl = replace(make.placement(make.box(tmp_path), "bowl", (0, 0)), mesh=mesh, collision=(), recolour=TEAL)
    project = tmp_path / "project"
    scene_files.write_scene(make.scene(bowl), project)
    first = colours_of(project)
    assert np.linalg.norm(np.median(first, axis=0) - TEAL) < 25
    again = scene_files.read_scene(project)
    assert again.placements[0].recolour == TEAL
    scene_files.write_scene(again, project)
    assert np.abs(np.median(colours_of(project), axis=0) - np.median(first, axis=0)).max() <= 4


def colours_of(project) -> np.ndarray:
    texture = project / "scene" / "bowl.png"
    if texture.exists():
        return np.asarray(Image.open(io.BytesIO(texture.read_bytes())).convert("RGB")).reshape(-1, 3)
    line = next(one for one in (project / "scene" / "bowl.mtl").read_text().splitlines() if one.startswith("Kd"))
    return np.array([[float(value) * 255 for value in line.split()[1:]]])


def drawn(folder):
    """Return the true scene of a cabinet, a teal bowl and a box, and the project of its photograph."""
    known = Library.open()
    (folder / "cabinet.xml").write_text(cabinet.CABINET)
    furniture = import_asset(folder / "cabinet.xml", folder / "library").asset
    recipe = studio.SceneRecipe("drawn", "", (), size=(640, 480), distance=1, azimuth=-8, table="oak", half=(0.6, 0.45))
    box, bowl = known["cracker_box"], known["teal_bowl"]
    stood = (furniture, (-0.08, 0.12), 20), (bowl, (0.2, -0.1), 0), (box, (-0.25, -0.1), 30)
    placements = []
    for number, (asset, at, degrees) in enumerate(stood, 1):
        turn = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
        pose = Pose.from_rotation(np.array([*at, asset.size[2] / 2]), turn)
        placements.append(asset_placement(asset, number, pose))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * recipe.half
    camera, intrinsics = studio.camera_pose(recipe), studio.camera_intrinsics(recipe)
    true = Scene(camera, corners, (150, 130, 110), tuple(placements), intrinsics)
    photograph_scene(true, recipe, np.random.default_rng(0), folder / "frame", noisy=False)
    others = ("white_bowl", "red_bowl", "cracker_box", "soup_can")
    services = offline_services(Library((furniture, *(known[id] for id in others))))
    project = Project.create(folder / "project", load(folder / "frame"))
    for _ in run_stages(project, services, "scene"):
        pass
    return true, project


def placed(project, category):
    (found,) = (p for p in project.scene().placements if p.category == category)
    return found, next(s.mask for s in project.segments() if s.id == found.segment_id)


def test_furniture_and_a_recoloured_bowl_are_upright_and_look_as_photographed(tmp_path):
    true, project = drawn(tmp_path)
    twin, (chest, mask) = project.scene(), placed(project, "cabinet")
    assert chest.asset_id == true.placements[0].asset_id and chest.scale == 1
    true_pose = np.linalg.inv(true.world_from_camera) @ true.placements[0].world_from_object.matrix
    pose = np.linalg.inv(twin.world_from_camera) @ chest.world_from_object.matrix
    angle = Rotation.from_matrix(true_pose[:3, :3].T @ pose[:3, :3]).magnitude()
    assert np.degrees(angle) < 4 and np.linalg.norm(true_pose[:3, 3] - pose[:3, 3]) < 0.01
    at = chest.world_from_object
    turned = Pose.from_rotation(at.pos, Rotation.from_euler("z", np.pi).as_matrix() @ at.rotation)
    seen = project.frame, twin.world_from_camera, mask, chest.mesh, chest.size
    front, back = (appearance_correlation(*seen, one) for one in (at, turned))
    assert front > back + 0.1
    bowl, mask = placed(project, "bowl")
    assert bowl.asset_id and bowl.recolour and "recoloured to the photograph" in bowl.provenance
    assert all(p.recolour is None for p in project.scene().placements if p.name != bowl.name)
    inner = cv2.erode(mask.astype(np.uint8), np.ones((15, 15))).astype(bool)
    twin = rendering.render_twin(project.folder / "scene", mask.shape[::-1]).rgb
    seen, shown = (median_chroma(image[inner]) for image in (project.frame.rgb, twin))
    assert np.linalg.norm(seen - shown) < 12 < np.linalg.norm(seen)  # white has no chroma


def median_chroma(rgb: np.ndarray) -> np.ndarray:
    return np.median(cv2.cvtColor(rgb[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0, :, 1:], axis=0)


def room(scene, folder):
    """Return the model of a scene before a blotched wall, 0.4 m behind the table."""
    blotches = cv2.resize(np.random.default_rng(3).integers(60, 200, (9, 12, 3), np.uint8), (768, 576))
    cv2.imwrite(str(folder / "wall.png"), blotches)
    spec = builder.build_spec(scene)
    spec.add_texture(name="wall", type=mujoco.mjtTexture.mjTEXTURE_2D, file=str(folder / "wall.png"))
    spec.add_material(name="wall", emission=0.9).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "wall"
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[2, 0.01, 2], pos=[0, 0.8, 0], material="wall")
    return builder.compile_spec(spec)


@pytest.fixture
def before_wall(tmp_path):
    tall = make.placement(make.box(tmp_path, (0.06, 0.06, 0.4)), "tall", (0.1, 0.2), rgb=OBJECT_RGB)
    scene = replace(make.scene(tall), world_from_camera=make.camera_pose((0.1, -0.8, 0.45), (0, 0, 0.15)))
    size = (make.CAMERA.width, make.CAMERA.height)
    image = render_model(room(scene, tmp_path), size)
    _, support, _ = make.photograph(scene)
    observation = Observation(Frame(image.rgb, image.depth, make.CAMERA), support)
    segments = (Segment(1, image.labels > 0),)
    return scene, observation, segments


def test_it_looks_as_in_the_photograph_and_as_in_the_room_from_ten_degrees_beside(before_wall, tmp_path):
    scene, observation, segments = before_wall
    made = make_background(observation, segments, builder.table_slab(scene))
    for degrees, least in ((0, 0.95), (10, 0.8), (-10, 0.8)):
        turn = Pose.from_rotation(np.zeros(3), Rotation.from_euler("z", degrees, degrees=True).as_matrix())
        seen = replace(scene, world_from_camera=turn.matrix @ scene.world_from_camera)
        truth = render_model(room(seen, tmp_path), (320, 240))
        scene_files.write_scene(seen, tmp_path / f"twin{degrees}")
        pictures = []
        for around in (None, made):
            write_background(around, tmp_path / f"twin{degrees}" / "scene")
            pictures.append(render_twin(tmp_path / f"twin{degrees}" / "scene", (320, 240)).rgb)
        alone, together = (
            float(structural_similarity(*(cv2.cvtColor(i, cv2.COLOR_RGB2GRAY) for i in (truth.rgb, one))).mean())
            for one in pictures
        )
        assert together > max(least, alone + 0.05), (degrees, alone, together)


def test_an_object_is_not_on_it_and_is_not_touched_by_it(before_wall, tmp_path):
    scene, observation, segments = before_wall
    made = make_background(observation, segments, builder.table_slab(scene))
    pixels = np.asarray(Image.open(io.BytesIO(made.png))).astype(int)
    assert not (np.abs(pixels - OBJECT_RGB).max(-1) < 60).any()
    assert 0 < made.filled < 0.5
    scene_files.write_scene(scene, tmp_path / "twin")
    path = tmp_path / "twin" / "scene" / "scene.xml"
    alone = mujoco.MjModel.from_xml_path(str(path))
    write_background(made, path.parent)
    together = load_model(path)
    keep_background(path)
    kept = mujoco.MjModel.from_xml_path(str(path))
    for model in (together, kept):
        geom = model.geom("background")
        assert (geom.contype, geom.conaffinity, model.ngeom) == (0, 0, alone.ngeom + 1)
        np.testing.assert_allclose(model.body_mass, alone.body_mass)
        np.testing.assert_allclose(model.stat.center, together.stat.center, atol=1e-6)
    write_background(None, path.parent)
    assert not list(path.parent.glob("background.*"))


def test_a_background_without_depth_stands_behind_the_table_and_a_table_that_fills_the_picture_has_none(before_wall):
    scene, observation, segments = before_wall
    slab, flat = builder.table_slab(scene), replace(observation.frame, depth=np.zeros_like(observation.frame.depth))
    made = make_background(replace(observation, frame=flat), segments, slab)
    assert made.filled == 1
    points = np.array([line.split()[1:] for line in made.obj.decode().splitlines() if line.startswith("v ")], float)
    ahead = (points - scene.world_from_camera[:3, 3]) @ scene.world_from_camera[:3, 2]
    np.testing.assert_allclose(ahead, ahead[0], atol=1e-3)
    corners = np.array([[x, y, 0] for x in (-0.5, 0.5) for y in (-0.4, 0.4)])
    assert ahead[0] > ((corners - scene.world_from_camera[:3, 3]) @ scene.world_from_camera[:3, 2]).max()
    from_above, _ = make.observe(make.scene())
    assert make_background(from_above, (), slab._replace(half=np.array([500.0, 500.0]))) is None


RED_AND_BLUE = "1 0 0 1", "0 0 1 1"
BALL = '<mujoco><worldbody><geom type="sphere" size=".3" rgba="{}"/></worldbody></mujoco>'


def test_two_renderers_draw_what_each_alone_draws_and_the_next_one_takes_over_a_context():
    models = [mujoco.MjModel.from_xml_string(BALL.format(colour)) for colour in RED_AND_BLUE]

    def drawn(*models: mujoco.MjModel) -> tuple[list[np.ndarray], list[object]]:
        renderers = [open_renderer(model, (64, 48)) for model in models]
        for model, renderer in zip(models, renderers, strict=True):
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data)
        pictures = [renderer.render() for renderer in (*renderers, *renderers)]
        contexts = [renderer._gl_context for renderer in renderers]
        for renderer in renderers:
            renderer.close()
        return pictures, contexts

    (red, _), first = run_in_render_thread(drawn, models[0])
    (blue, _), second = run_in_render_thread(drawn, models[1])
    both, two = run_in_render_thread(drawn, *models)
    assert first == second and len({*two}) == 2 and {*second} <= {*two}
    assert not np.array_equal(red, blue)
    assert all(np.array_equal(picture, alone) for picture, alone in zip(both, [red, blue] * 2, strict=True))
