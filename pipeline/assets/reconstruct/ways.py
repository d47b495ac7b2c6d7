"""Which shape explains best what was seen, with a fair charge for its freedom.

A shape's error is what the camera's rays miss it by (evidence.py): in front, behind, beside, and where they saw
through it. As in Schwarz' criterion, N log(error) + k log(N) is least, with k the numbers that were chosen to make the
shape fit, and N the number of rays that say something of their own: neighbours err alike.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pipeline.assets.reconstruct.evidence import Evidence
from pipeline.assets.reconstruct.meeting import Met, agreed, meets_mesh
from pipeline.assets.reconstruct.outlined import box, boxes, layered, raised
from pipeline.assets.reconstruct.proposal import Proposal
from pipeline.assets.reconstruct.turned import turned
from pipeline.assets.shapes import Solid
from pipeline.description import Attributes
from pipeline.geometry import transform

WAYS = {
    "best": "Whatever explains it best",
    "box": "Box",
    "cylinder": "Cylinder, upright or lying",
    "ball": "Ball",
    "revolved": "Turned profile (bottles, cups, bowls)",
    "extruded": "Outline raised to its height",
    "layered": "Outlines in layers (odd shapes)",
    "provider": "By the image-to-3D service",
}
"""How an asset may be made from the view: what a person may ask for by name, and what a menu calls it."""
GROWN, SHRUNK = 1.3, 0.85
"""Factors by which a shape may be larger and smaller than what shows of the thing."""
RIVAL = 150
"""What a shape that was fitted to points alone may cost more than the best, to be tried nearer to the rays, too."""
UNIT = 0.1
"""Metres that stand for a scale of 1 among lengths."""
FEW = 45
"""Tries where each takes milliseconds."""
RAYS = 500
"""Rays that say something of their own."""


def shape(evidence: Evidence, attributes: Attributes, way: str = "best") -> Proposal:
    """The best of the proposals of a way; the described box where too little was seen or none of its kind is there."""
    way = "best" if way == "provider" else way
    size, yaw, centre = np.nan_to_num(attributes.size), attributes.yaw, attributes.centre
    foot = np.array([*centre[:2], evidence.bottom])
    described = box(size, yaw, foot)
    if not evidence.enough:
        return described
    tried = [p for p in _proposals(evidence, size, yaw, centre, way) if way in ("best", p.way)]
    if way in ("best", "box") and attributes.shape in ("box", "cube"):
        tried.append(described)
    priced = sorted(((price(evidence, p), n, p) for n, p in enumerate(tried) if _plausible(p, evidence, described)))
    if not priced:
        return min(tried, key=lambda p: price(evidence, p), default=described)
    least, _, best = priced[0]
    for cost, _, rival in priced:
        if not rival.agreed and cost < least + RIVAL:
            rival = replace(rival, solid=_adjusted(evidence, rival.solid), agreed=True)
            return rival if price(evidence, rival) < least else best
    return best


def _adjusted(evidence: Evidence, solid: Solid) -> Solid:
    """A solid moved over the table and made a little wider and higher, until the rays agree best."""
    low, high = solid.mesh.bounds
    foot = np.array([*(low + high)[:2] / 2, low[2]])

    def matrix(x: np.ndarray) -> np.ndarray:
        moved = np.diag([x[2] / UNIT, x[2] / UNIT, x[3] / UNIT, 1.0])
        moved[:3, 3] = foot + np.array([x[0], x[1], 0]) - moved[:3, :3] @ foot
        return moved

    def meets(x: np.ndarray) -> Met:
        return meets_mesh(evidence, transform(matrix(x), solid.mesh.vertices), solid.mesh.faces)

    return solid.moved(matrix(agreed(evidence, meets, np.array([0, 0, UNIT, UNIT]), slice(2, 4), FEW)))


def _plausible(proposal: Proposal, evidence: Evidence, described: Proposal) -> bool:
    """Whether it is about as large as what was seen: what is hidden is seldom larger than what shows."""
    extents = proposal.solid.mesh.extents
    shown = np.ptp(np.quantile(evidence.points, [0.02, 0.98], axis=0), axis=0)
    most = GROWN * np.maximum(shown, described.solid.mesh.extents) + 0.005
    return bool((extents < most).all() and (extents > SHRUNK * shown - 0.005).all())


def price(evidence: Evidence, proposal: Proposal) -> float:
    """What a proposal costs: the less, the better."""
    error = evidence.misfit(proposal.solid.mesh)
    return RAYS * float(np.log(error + evidence.floor)) + proposal.freedom * float(np.log(RAYS))


def _proposals(evidence: Evidence, size: np.ndarray, yaw: float, centre: np.ndarray, way: str) -> Iterator[Proposal]:
    if way in ("best", "box"):
        yield from boxes(evidence, size, yaw, centre)
    if way in ("best", "ball", "cylinder", "revolved"):
        yield from turned(evidence, size, yaw, centre)
    if way in ("best", "extruded"):
        yield from raised(evidence)
    if way in ("best", "layered"):
        yield from layered(evidence, size, yaw, centre)
