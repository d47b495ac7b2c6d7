"""XML of MuJoCo models for other versions of MuJoCo and for other simulators."""

import re

import mujoco

OLDEST_MUJOCO = "3.3.0"
"""The oldest version that loads a twin: the one that LIBERO, robosuite and dm_control allow."""


def portable_xml(spec: mujoco.MjSpec) -> str:
    """Return a specification as XML for MuJoCo from OLDEST_MUJOCO on, with both numbers of each `solref`.

    MuJoCo 4 writes the colour space of each texture, which older ones refuse, and leaves a damping ratio of 1 out of
    `solref`, which not every simulator adds.
    """
    text = re.sub(r' colorspace="\w+"', "", spec.to_xml())
    return re.sub(r'\bsolref="([^" ]+)"', r'solref="\1 1"', text)
