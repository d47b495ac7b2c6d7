"""Files of Gaussian splats that the studio reads and does not write."""

import gzip
import struct

import numpy as np

from pipeline.scene.splats.splat_cloud import SH_C0, quaternions


def to_spz(splats: np.ndarray) -> bytes:
    """Return the splats as a .spz of version 2: y up, z backward."""
    position = (splats["position"] * [1, -1, -1] * 4096).round().astype("<i4").view("u1").reshape(-1, 3, 4)[..., :3]
    colour = ((splats["rgba"][:, :3] / 255 - 0.5) / SH_C0 * 0.15 + 0.5) * 255
    quats = quaternions(splats) * [1, 1, -1, -1]
    rotation = (quats[:, 1:] * np.where(quats[:, :1] < 0, -1, 1) + 1) * 127.5
    numbers = [colour, (np.log(splats["scale"]) + 10) * 16, rotation]
    body = [position.tobytes(), splats["rgba"][:, 3].tobytes(), *(n.round().astype("u1").tobytes() for n in numbers)]
    return gzip.compress(struct.pack("<IIIBBBB", 0x5053474E, 2, len(splats), 0, 12, 0, 0) + b"".join(body))
