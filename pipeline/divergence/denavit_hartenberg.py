"""Forward kinematics by a table of Denavit-Hartenberg parameters, as in section III-F of the Real2Sim paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class DhLink:
    """One row of a table in the standard convention."""

    a: float
    """Link length in metres."""
    alpha: float
    """Link twist in radians."""
    d: float
    """Link offset in metres; added to the joint's position for a slide."""
    theta: float = 0.0
    """Joint angle at position 0 in radians."""
    slides: bool = False
    """Whether the joint's position moves d instead of theta."""


@dataclass(frozen=True, eq=False)
class DhArm:
    """An arm by its table: T(q) = (prod_i T_i(q_i)) T_5,flange T_flange,tool (F4)."""

    links: tuple[DhLink, ...]
    world_from_base: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Of shape (4, 4)."""
    flange: np.ndarray = field(default_factory=lambda: np.eye(4))
    """T_5,flange: the flange in the last link's frame, of shape (4, 4)."""
    tool: np.ndarray = field(default_factory=lambda: np.eye(4))
    """T_flange,tool: the tool's centre point in the flange's frame, of shape (4, 4)."""

    def pose(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of the end effector (F4, F6) for positions of shape (T, links)."""
        transform = np.broadcast_to(self.world_from_base, (len(positions), 4, 4))
        for link, q in zip(self.links, np.asarray(positions, float).T, strict=True):
            transform = transform @ link_transform(link, q)
        transform = transform @ self.flange @ self.tool
        return transform[:, :3, 3], transform[:, :3, :3]


def link_transform(link: DhLink, q: np.ndarray) -> np.ndarray:
    """Return T_i(q_i) (F5) for joint positions of shape (T,), of shape (T, 4, 4).

    [[cos t, -sin t cos alpha,  sin t sin alpha, a cos t],
     [sin t,  cos t cos alpha, -cos t sin alpha, a sin t],
     [0,      sin alpha,        cos alpha,       d],
     [0,      0,                0,               1]]      with t = theta + q
    """
    angle, offset = (np.full_like(q, link.theta), link.d + q) if link.slides else (link.theta + q, link.d)
    c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(link.alpha), np.sin(link.alpha)
    transform = np.zeros((len(q), 4, 4))
    transform[:, 0] = np.stack((c, -s * ca, s * sa, link.a * c), axis=-1)
    transform[:, 1] = np.stack((s, c * ca, -c * sa, link.a * s), axis=-1)
    transform[:, 2, 1], transform[:, 2, 2], transform[:, 2, 3], transform[:, 3, 3] = sa, ca, offset, 1
    return transform


def dh_arm(rows: Sequence[Sequence[float]], **frames: np.ndarray) -> DhArm:
    """Return an arm of rows (a, alpha, d) or (a, alpha, d, theta), in metres and radians."""
    links = [
        DhLink(float(row[0]), float(row[1]), float(row[2]), float(row[3]) if len(row) > 3 else 0.0) for row in rows
    ]
    return DhArm(tuple(links), **frames)
