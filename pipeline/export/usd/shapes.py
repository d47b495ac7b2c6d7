"""Geoms of the twin as USD geometry: colliders, visible meshes, and their materials; names and poses of prims."""

from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, UsdGeom, UsdPhysics, UsdShade, Vt
from scipy.spatial import ConvexHull

from pipeline.export.formats.urdf import round_mesh
from pipeline.export.twin_model import Shape, TwinModel
from pipeline.geometry import Pose

ROUGHNESS = 0.7


class ShapeWriter:
    """Adds geoms to a stage; materials are written when first needed."""

    def __init__(self, stage: Any, twin: TwinModel, folder: Path):
        self.stage, self.twin, self.folder = stage, twin, folder
        self._looks: dict[tuple, Any] = {}
        self._frictions: dict[float, Any] = {}

    def write(self, shape: Shape, path: str) -> None:
        """Add a shape below its body. A shape that is not visible is a guide, as usdview calls it."""
        prim = self._geometry(shape, path)
        set_pose(prim, shape.body_from_shape)
        if shape.kind == "box":
            UsdGeom.Xformable(prim).AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*shape.size.tolist()))
        if shape.is_visible:
            binding = UsdShade.MaterialBindingAPI.Apply(prim)
            binding.Bind(self._look(shape))
        else:
            UsdGeom.Imageable(prim).CreatePurposeAttr(UsdGeom.Tokens.guide)
        UsdGeom.Gprim(prim).CreateDisplayColorAttr([Gf.Vec3f(*shape.rgba[:3])])
        if shape.collides:
            UsdPhysics.CollisionAPI.Apply(prim)
            if prim.IsA(UsdGeom.Mesh):
                UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(UsdPhysics.Tokens.convexHull)
            binding = UsdShade.MaterialBindingAPI.Apply(prim)
            binding.Bind(self._friction(shape.friction), UsdShade.Tokens.weakerThanDescendants, "physics")

    def _geometry(self, shape: Shape, path: str) -> Any:
        radius, half = float(shape.size[0]), float(shape.size[1])
        match shape.kind:
            case "box":
                box = UsdGeom.Cube.Define(self.stage, path)
                box.CreateSizeAttr(2.0)
                box.CreateExtentAttr([Gf.Vec3f(-1), Gf.Vec3f(1)])
                return box.GetPrim()
            case "sphere":
                ball = UsdGeom.Sphere.Define(self.stage, path)
                ball.CreateRadiusAttr(radius)
                ball.CreateExtentAttr([Gf.Vec3f(-radius), Gf.Vec3f(radius)])
                return ball.GetPrim()
            case "cylinder" | "capsule":
                kind = UsdGeom.Cylinder if shape.kind == "cylinder" else UsdGeom.Capsule
                solid = kind.Define(self.stage, path)
                solid.CreateRadiusAttr(radius)
                solid.CreateHeightAttr(2 * half)
                solid.CreateAxisAttr(UsdGeom.Tokens.z)
                top = half + (radius if shape.kind == "capsule" else 0.0)
                solid.CreateExtentAttr([Gf.Vec3f(-radius, -radius, -top), Gf.Vec3f(radius, radius, top)])
                return solid.GetPrim()
            case "plane":
                return self._plane(shape, path)
            case "mesh":
                return self._mesh(shape, path)
            case _:
                ball = round_mesh(shape)
                return self._triangles(path, np.asarray(ball.vertices), np.asarray(ball.faces)).GetPrim()

    def _plane(self, shape: Shape, path: str) -> Any:
        plane = UsdGeom.Plane.Define(self.stage, path)
        width, length = (2 * float(half) or 100.0 for half in shape.size[:2])
        plane.CreateAxisAttr(UsdGeom.Tokens.z)
        plane.CreateWidthAttr(width)
        plane.CreateLengthAttr(length)
        plane.CreateExtentAttr([Gf.Vec3f(-width / 2, -length / 2, 0), Gf.Vec3f(width / 2, length / 2, 0)])
        return plane.GetPrim()

    def _mesh(self, shape: Shape, path: str) -> Any:
        data = self.twin.mesh(shape.mesh)
        if shape.collides and not shape.is_visible:
            hull = ConvexHull(data.vertices)
            outwards = _outward_faces(data.vertices, hull)
            used, faces = np.unique(outwards, return_inverse=True)
            return self._triangles(path, data.vertices[used], faces.reshape(-1, 3)).GetPrim()
        mesh = self._triangles(path, data.vertices, data.faces)
        if data.uv is not None:
            values = Vt.Vec2fArray.FromNumpy(data.uv.reshape(-1, 2).astype(np.float32))
            interpolation = UsdGeom.Tokens.faceVarying
            primvars = UsdGeom.PrimvarsAPI(mesh)
            primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, interpolation).Set(values)
        return mesh.GetPrim()

    def _triangles(self, path: str, vertices: np.ndarray, faces: np.ndarray) -> Any:
        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices.astype(np.float32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(faces.astype(np.int32).ravel()))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        corners = vertices[faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(normals.astype(np.float32)))
        mesh.SetNormalsInterpolation(UsdGeom.Tokens.uniform)
        low, high = vertices.min(0).tolist(), vertices.max(0).tolist()
        mesh.CreateExtentAttr([Gf.Vec3f(*low), Gf.Vec3f(*high)])
        return mesh

    def _look(self, shape: Shape) -> Any:
        """Return the material that a visible shape is drawn with: a colour, or a texture."""
        texture = self.twin.texture_png(shape.material)
        key = (shape.material, shape.rgba) if shape.material >= 0 else (-1, shape.rgba)
        if key not in self._looks:
            path = f"/World/looks/look_{len(self._looks)}"
            UsdGeom.Scope.Define(self.stage, "/World/looks")
            material = UsdShade.Material.Define(self.stage, path)
            surface = UsdShade.Shader.Define(self.stage, f"{path}/surface")
            surface.CreateIdAttr("UsdPreviewSurface")
            surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(ROUGHNESS)
            surface.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(0.0)
            colour = surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
            if texture is None:
                colour.Set(Gf.Vec3f(*shape.rgba[:3]))
                surface.CreateInput("opacity", Sdf.ValueTypeNames.Float).Set(shape.rgba[3])
            else:
                colour.ConnectToSource(self._texture(path, texture, len(self._looks)))
            output = surface.CreateOutput("surface", Sdf.ValueTypeNames.Token)
            material.CreateSurfaceOutput().ConnectToSource(output)
            self._looks[key] = material
        return self._looks[key]

    def _texture(self, path: str, png: bytes, number: int) -> Any:
        name = f"textures/look_{number}.png"
        (self.folder / "textures").mkdir(exist_ok=True)
        (self.folder / name).write_bytes(png)
        reader = UsdShade.Shader.Define(self.stage, f"{path}/st")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
        coordinates = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
        sampler = UsdShade.Shader.Define(self.stage, f"{path}/texture")
        sampler.CreateIdAttr("UsdUVTexture")
        sampler.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(Sdf.AssetPath(f"./{name}"))
        sampler.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set("sRGB")
        sampler.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(coordinates)
        for wrap in ("wrapS", "wrapT"):
            sampler.CreateInput(wrap, Sdf.ValueTypeNames.Token).Set("repeat")
        return sampler.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)

    def _friction(self, friction: float) -> Any:
        if friction not in self._frictions:
            UsdGeom.Scope.Define(self.stage, "/World/frictions")
            material = UsdShade.Material.Define(self.stage, f"/World/frictions/friction_{len(self._frictions)}")
            physics = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
            physics.CreateStaticFrictionAttr(friction)
            physics.CreateDynamicFrictionAttr(friction)
            physics.CreateRestitutionAttr(0.0)
            self._frictions[friction] = material
        return self._frictions[friction]


def _outward_faces(vertices: np.ndarray, hull: ConvexHull) -> np.ndarray:
    """Return the hull's triangles (F, 3) with their corners anticlockwise from outside."""
    faces = hull.simplices.copy()
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    inwards = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(1) < 0
    faces[inwards] = faces[inwards][:, ::-1]
    return faces


def identifier(name: str) -> str:
    """Return a valid name of a prim."""
    return Tf.MakeValidIdentifier(name)


def set_pose(prim: Any, pose: Pose) -> None:
    """Set the pose of a prim relative to its parent, in double precision."""
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*pose.pos.tolist()))
    xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*pose.quat_wxyz.tolist()))
