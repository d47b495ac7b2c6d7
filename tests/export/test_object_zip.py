"""An object exported as MJCF or URDF has the same size, mass and inertia wherever it is loaded."""

import io
import zipfile
from xml.etree import ElementTree

import drawn_scene as make
import mujoco
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.export.export_format import ExportError
from pipeline.export.object_zip import object_zip
from pipeline.scene.mjcf import builder


def unpack(p, file_format, folder):
    with zipfile.ZipFile(io.BytesIO(object_zip(p, file_format))) as archive:
        archive.extractall(folder / file_format)
    (main,) = (folder / file_format).rglob("*.xml" if file_format == "mjcf" else "*.urdf")
    return main


def placements(tmp_path):
    library = Library.open()
    for number, id in enumerate(("red_mug", "mustard_bottle", "cracker_box"), 1):
        asset = library[id]
        more = {"size": 1.1 * asset.size, "number": number, "asset_id": id, "collision": asset.collision}
        yield make.placement(asset.mesh, id, **more)
    yield make.placement(make.can(tmp_path), "can", number=8)
    yield make.placement(make.ball(tmp_path), "ball", number=9, foot=True)
    lopsided: trimesh.Trimesh = trimesh.util.concatenate(  # type: ignore[assignment]
        trimesh.creation.box((0.1, 0.02, 0.02)),
        trimesh.creation.box((0.02, 0.05, 0.02)).apply_translation((0.04, 0.03, 0)),
    )
    yield make.placement(make.shape(tmp_path, "angle", lopsided), "angle", number=10)


def tensor(model, body):
    """Return the inertia about the centre of mass in the body's own axes."""
    rotation = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    return rotation @ np.diag(model.body_inertia[body]) @ rotation.T


def extents(model, body):
    corners = []
    for g in np.flatnonzero((model.geom_bodyid == body) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)):
        mesh = model.geom_dataid[g]
        rows = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        rotation = Rotation.from_quat(model.geom_quat[g], scalar_first=True)
        corners.append(rotation.apply(model.mesh_vert[rows]) + model.geom_pos[g])
    return np.ptp(np.vstack(corners), axis=0)


@pytest.mark.parametrize("file_format", ["mjcf", "urdf"])
def test_an_exported_object_has_the_same_mass_inertia_and_size(tmp_path, file_format):
    for p in placements(tmp_path):
        twin = builder.compile_spec(builder.build_object(p))
        exported = mujoco.MjModel.from_xml_path(str(unpack(p, file_format, tmp_path / p.name)))
        own, body = twin.body(p.name).id, exported.body(p.name).id
        assert exported.body_mass[body] == pytest.approx(p.mass, rel=1e-4)
        scale = np.abs(tensor(twin, own)).max()
        assert np.abs(tensor(exported, body) - tensor(twin, own)).max() < 1e-4 * scale, p.name
        assert np.abs(exported.body_ipos[body] - twin.body_ipos[own]).max() < 1e-6
        assert np.abs(extents(exported, body) - p.size).max() < 1e-5, p.name


def test_a_urdf_names_only_files_beside_it_and_gives_the_friction(tmp_path):
    for p in placements(tmp_path):
        file = unpack(p, "urdf", tmp_path / p.name)
        robot = ElementTree.parse(file).getroot()
        named = {mesh.get("filename") for mesh in robot.iter("mesh")}
        assert named and all((file.parent / name).is_file() for name in named)
        assert float(robot.findtext("gazebo/mu1") or 0) == p.friction


def test_an_mjcf_object_comes_to_rest_and_equal_objects_make_equal_zips(tmp_path):
    p = next(placements(tmp_path))
    spec = mujoco.MjSpec.from_file(str(unpack(p, "mjcf", tmp_path)))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=500)
    assert abs(data.body(p.name).xpos[2] - p.size[2] / 2) < 1e-3
    assert object_zip(p, "urdf") == object_zip(p, "urdf")
    with pytest.raises(ExportError, match="usd"):
        object_zip(p, "usd")
