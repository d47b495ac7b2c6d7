"""Gaussian splats (Kerbl et al. 2023, "3D Gaussian Splatting") as one array, without their view-dependent colour."""

import numpy as np
from scipy.spatial.transform import Rotation

SPLAT = np.dtype([("position", "<f4", 3), ("scale", "<f4", 3), ("rgba", "u1", 4), ("rotation", "u1", 4)])
"""32 bytes, as in `.splat` files: metres, sRGB and opacity, and a quaternion wxyz in steps of 1/128 from 128."""
SH_C0 = 0.28209479177387814
"""Constant of the spherical harmonic of degree 0, by which colours are stored in .ply files."""


def make_splats(position: np.ndarray, scale: np.ndarray, rgba: np.ndarray, quat_wxyz: np.ndarray) -> np.ndarray:
    """Return splats (N,) of dtype SPLAT, the most visible first; those that are no number or invisible are left out.

    Args:
        position: of shape (N, 3).
        scale: standard deviations along the splat's own axes, of shape (N, 3), in the unit of `position`.
        rgba: of shape (N, 4), from 0 to 1.
        quat_wxyz: of shape (N, 4), of any length but 0.
    """
    length = np.linalg.norm(quat_wxyz, axis=1, keepdims=True)
    sound = np.isfinite(np.hstack([position, scale, rgba, quat_wxyz])).all(1) & (length[:, 0] > 1e-6)
    sound &= (np.abs(position).max(1, initial=0) < 1e5) & (scale.min(1, initial=1) >= 0) & (rgba[:, 3] >= 1 / 255)
    splats = np.zeros(np.count_nonzero(sound), SPLAT)
    splats["position"], splats["scale"] = position[sound], np.minimum(scale[sound], 1e5)
    splats["rgba"] = (rgba[sound].clip(0, 1) * 255).round()
    splats["rotation"] = (quat_wxyz[sound] / length[sound] * 128 + 128).round().clip(0, 255)
    return splats[np.argsort(-_visibility(splats), kind="stable")]


def quaternions(splats: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 4), wxyz, float64, of length 1."""
    quats = (splats["rotation"].astype(float) - 128) / 128
    return quats / np.maximum(np.linalg.norm(quats, axis=1, keepdims=True), 1e-6)


def transformed(splats: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the splats moved by a similarity (4, 4): a rotation times one factor, and a shift."""
    factor = float(np.cbrt(np.linalg.det(matrix[:3, :3])))
    moved = splats.copy()
    moved["position"] = splats["position"] @ matrix[:3, :3].T + matrix[:3, 3]
    moved["scale"] = splats["scale"] * factor
    turned = Rotation.from_matrix(matrix[:3, :3] / factor) * Rotation.from_quat(quaternions(splats), scalar_first=True)
    moved["rotation"] = (turned.as_quat(scalar_first=True) * 128 + 128).round().clip(0, 255)
    return moved


def to_ply(splats: np.ndarray) -> bytes:
    """Return the splats as a .ply file as 3DGS's training writes it, with colours of degree 0."""
    names = ["x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity", *(f"scale_{i}" for i in range(3))]
    names += [f"rot_{i}" for i in range(4)]
    rgba = splats["rgba"] / 255
    opacity = rgba[:, 3:].clip(1 / 255, 1 - 1 / 510)
    rows = np.hstack([
        splats["position"], (rgba[:, :3] - 0.5) / SH_C0, np.log(opacity / (1 - opacity)),
        np.log(np.maximum(splats["scale"], 1e-9)), quaternions(splats),
    ])  # fmt: skip
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(splats)}"]
    lines = [*header, *(f"property float {name}" for name in names), "end_header", ""]
    return "\n".join(lines).encode() + rows.astype("<f4").tobytes()


def _visibility(splats: np.ndarray) -> np.ndarray:
    """Return opacity times the area of the two longest axes, of shape (N,)."""
    return splats["rgba"][:, 3] * np.sort(splats["scale"].astype(float), axis=1)[:, 1:].prod(1)
