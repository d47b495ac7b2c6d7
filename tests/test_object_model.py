"""An object taken away as MJCF or URDF is the same thing wherever it is loaded."""

import io
import zipfile
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import scene_making as make
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.export.bundle import ExportError
from pipeline.export.object_model import object_zip
from pipeline.scene import mjcf


def unpacked(p, form, folder):
    with zipfile.ZipFile(io.BytesIO(object_zip(p, form))) as archive:
        archive.extractall(folder / form)
    (main,) = (folder / form).rglob("*.xml" if form == "mjcf" else "*.urdf")
    return main


def things(tmp_path):
    library = Library.open()
    for number, id in enumerate(("red_mug", "mustard_bottle", "cracker_box"), 1):
        asset = library[id]
        yield make.thing(asset.mesh, id, size=1.1 * asset.size, number=number, asset_id=id, collision=asset.collision)
    yield make.thing(make.can(tmp_path), "can", number=8)
    yield make.thing(make.ball(tmp_path), "ball", number=9, foot=True)
    lopsided = trimesh.util.concatenate(
        trimesh.creation.box((0.1, 0.02, 0.02)),
        trimesh.creation.box((0.02, 0.05, 0.02)).apply_translation((0.04, 0.03, 0)),
    )
    yield make.thing(make.shape(tmp_path, "angle", lopsided), "angle", number=10)


def tensor(model, body):
    """Inertia about the centre of mass in the body's own axes."""
    turn = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    return turn @ np.diag(model.body_inertia[body]) @ turn.T


def extents(model, body):
    """Of what it looks like, in the body's axes."""
    corners = []
    for g in np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)):
        mesh = model.geom_dataid[g]
        rows = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        turn = Rotation.from_quat(model.geom_quat[g], scalar_first=True)
        corners.append(turn.apply(model.mesh_vert[rows]) + model.geom_pos[g])
    return np.ptp(np.vstack(corners), axis=0)


@pytest.mark.parametrize("form", ["mjcf", "urdf"])
def test_what_is_taken_away_loads_alone_with_the_same_mass_inertia_and_size(tmp_path, form):
    for p in things(tmp_path):
        here = mjcf.compile_spec(mjcf.alone(p))
        there = mujoco.MjModel.from_xml_path(str(unpacked(p, form, tmp_path / p.name)))
        own, body = here.body(p.name).id, there.body(p.name).id
        assert there.body_mass[body] == pytest.approx(p.mass, rel=1e-4)
        scale = np.abs(tensor(here, own)).max()
        assert np.abs(tensor(there, body) - tensor(here, own)).max() < 1e-4 * scale, p.name
        assert np.abs(there.body_ipos[body] - here.body_ipos[own]).max() < 1e-6
        assert np.abs(extents(there, body) - p.size).max() < 1e-5, p.name


def test_a_urdf_names_only_files_that_lie_beside_it_and_says_its_friction(tmp_path):
    for p in things(tmp_path):
        file = unpacked(p, "urdf", tmp_path / p.name)
        robot = ElementTree.parse(file).getroot()
        named = {mesh.get("filename") for mesh in robot.iter("mesh")}
        assert named
        assert all((file.parent / name).is_file() for name in named)
        assert float(robot.findtext("gazebo/mu1")) == p.friction


def test_an_mjcf_object_comes_to_rest_on_a_table(tmp_path):
    p = next(things(tmp_path))
    spec = mujoco.MjSpec.from_file(str(unpacked(p, "mjcf", tmp_path)))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=500)
    assert abs(data.body(p.name).xpos[2] - p.size[2] / 2) < 1e-3


def test_equal_objects_make_equal_zips_and_an_unknown_form_is_refused(tmp_path):
    p = next(things(tmp_path))
    assert object_zip(p, "urdf") == object_zip(p, "urdf")
    with pytest.raises(ExportError, match="usd"):
        object_zip(p, "usd")
