"""Choose the unit of depth by what it makes of the table: its distance, and the sizes of the objects on it."""

import math
from dataclasses import dataclass

import numpy as np

from pipeline.frame.depth_values import common_divisor
from pipeline.frame.frame import Doubt, FrameError, Intrinsics
from pipeline.frame.planarity import object_extent, sample_depth

INTEGER_UNITS = {0.001: 6.0, 0.0001: 1.0, 0.00025: 1.0, 0.0002: 1.0, 0.000125: 0.5, 0.01: 0.5}
"""Metres per unit and how common each is: most cameras, RealSense D405, L515, TUM, SR300, centimetres."""
FLOAT_UNITS = {1.0: 6.0, 0.001: 3.0, 0.01: 0.5}
LIMITS_M = (0.1, 10.0)
"""Median distance that a guessed unit may give."""
UNDOUBTED_M = (0.25, 2.5)
"""Median distances at which a unit that was given is not examined."""

UNIT_CURE = "Choose the distance on the Frame page, or correct depth_scale in camera.json."


@dataclass(frozen=True)
class UnitChoice:
    """A unit of depth, and what it would mean."""

    metres: float
    """Metres per unit."""
    note: str = ""
    doubt: Doubt | None = None


def choose_unit(values: np.ndarray, k: Intrinsics, is_integer: bool) -> UnitChoice:
    """Return the most likely unit of depth (H, W), distances along z, 0 where unknown.

    Raises FrameError if no common unit puts the median at the distance of a table.
    """
    median = float(np.median(values[values > 0]))
    units = INTEGER_UNITS if is_integer else FLOAT_UNITS
    possible = [unit for unit in units if LIMITS_M[0] <= median * unit <= LIMITS_M[1]]
    if not possible:
        raise FrameError(
            f"The unit of depth cannot be guessed: its median is {median:g} units. "
            "Write depth_scale (metres per unit, 0.001 for millimetres) into camera.json."
        )
    odds = _odds(values, k, {unit: units[unit] for unit in possible}, is_integer)
    best = max(odds, key=lambda unit: odds[unit])
    # Probability from which another unit is named
    others = [unit for unit in odds if unit != best and odds[unit] >= 0.1 * sum(odds.values())]
    reason = f"No depth_scale given: one unit of depth was taken as {best * 1000:g} mm, {_meaning(median * best, k)}"
    if not others:
        return UnitChoice(best, "" if best == 1 else f"{reason}.")
    listed = " or ".join(f"{unit * 1000:g} mm (distance {median * unit:.2f} m)" for unit in others)
    return UnitChoice(
        best,
        doubt=Doubt(
            "unit",
            f"{reason}; it may be {listed}.",
            UNIT_CURE,
        ),
    )


def doubt_unit(values: np.ndarray, k: Intrinsics, given: float, is_integer: bool) -> Doubt | None:
    """Return a doubt about a given unit if another one makes a far more likely table; None if there is none."""
    median = float(np.median(values[values > 0]))
    if UNDOUBTED_M[0] <= median * given <= UNDOUBTED_M[1]:
        return None
    units = INTEGER_UNITS if is_integer else FLOAT_UNITS
    odds = _odds(values, k, {given: 1.0} | units, False)
    best = max(odds, key=lambda unit: odds[unit])
    # Odds at which another unit contradicts one that was given
    if odds[best] < 300.0 * odds[given]:
        return None
    why = f"depth_scale is {given:g}, {_meaning(median * given, k)}; {best:g} would make it {median * best:.2f} m."
    return Doubt("unit", why, UNIT_CURE)


def _odds(values: np.ndarray, k: Intrinsics, priors: dict[float, float], is_integer: bool) -> dict[float, float]:
    """Return the odds of each unit (metres), up to a common factor."""
    samples = sample_depth(values, k)
    extent = None if samples is None else object_extent(samples)
    divisor = common_divisor(values) if is_integer else 1
    median = float(np.median(values[values > 0]))
    odds = {}
    for unit, prior in priors.items():
        surprise = sum(
            (math.log(measured * unit / usual) / spread) ** 2 / 2
            # Median distance and median extent of the objects, each with the spread of its logarithm. On 23 frames from
            # here and elsewhere 0.47 to 1.15 m and 3 to 14 cm; the spreads are wider by half for cameras that come
            # close, as D405.
            for measured, (usual, spread) in ((median, (0.8, 0.6)), (extent, (0.085, 0.6)))
            if measured
        )
        # 50.0: odds for a unit if all values are multiples of one millimetre in it: they were converted from whole
        # millimetres
        equal = 50.0 if divisor > 1 and math.isclose(divisor * unit, 0.001) else 1.0
        odds[unit] = prior * equal * math.exp(-surprise)
    return odds


def _meaning(distance: float, k: Intrinsics) -> str:
    return f"which makes the picture {k.width / k.fx * distance:.2f} m wide at its middle distance of {distance:.2f} m"
