"""`python -m bench.calibration [COUNT]`: planted models calibrated from four noisy episodes each.

The planted truth is a second MuJoCo model with other parameters, a finer time step, 2 mrad noise, a delay and a
quantisation that the calibration is not given. It is no real robot.
"""

import sys
import time
from collections import defaultdict

import mujoco
import numpy as np

from bench.planted_arms import DAMPINGS, FRICTIONS, MASSES, arm_xml, record
from pipeline.calibration import Calibration, calibrate, default_parameters, parameter

JOINTS = ("turn", "shoulder", "elbow")
UNIDENTIFIABLE = (
    ("geom", "tile", "friction"), ("geom", "tile", "solref"), ("body", "crate", "mass"), ("body", "crate", "friction"),
    ("joint", "lid", "damping"), ("joint", "lid", "stiffness"), ("body", "base", "com_z"), ("body", "crate", "com_x"),
    ("actuator", "a_lid", "kv"), ("joint", "lid", "armature"),
)  # fmt: skip
"""Parameters that the episodes do not show: a crate that rests untouched, a tile, a lid that is not moved."""
STILL = """<geom name="tile" type="box" size=".1 .1 .01" pos="2 2 0"/>
 <body name="crate" pos="2 2 .06" simple="false"><freejoint/><geom type="box" size=".05 .05 .05" mass=".4"/></body>
 <body name="hatch" pos="-2 0 0"><joint name="lid" axis="0 0 1" damping="1" stiffness="2" armature=".1"/>
 <geom type="box" size=".1 .1 .01" mass=".3"/></body></worldbody>"""


def planted(random: np.random.Generator) -> dict[str, float]:
    """Return a truth: damping, friction loss and payload each up to a factor of 1.65 from the model's."""
    factors = np.exp(random.uniform(-0.5, 0.5, 7))
    names = [f"{joint}.{field}" for field in ("damping", "frictionloss") for joint in JOINTS]
    return dict(zip([*names, "payload.mass"], factors * [*DAMPINGS, *FRICTIONS, MASSES["payload"]], strict=True))


def xml_of(truth: dict[str, float]) -> str:
    """Return the planted model."""
    dampings, frictions = (tuple(truth[f"{j}.{field}"] for j in JOINTS) for field in ("damping", "frictionloss"))
    return arm_xml({**MASSES, "payload": truth["payload.mass"]}, dampings, frictions)


def study(count: int) -> None:
    """Print errors, coverage of the intervals, held-out errors and times of `count` planted models."""
    random, model = np.random.default_rng(1), mujoco.MjModel.from_xml_string(arm_xml())
    parameters = [*default_parameters(model, JOINTS, []), parameter(model, "body", "payload", "mass")]
    errors, bounds, held, seconds, ratios = defaultdict(list), defaultdict(list), [], [], []
    for number in range(count):
        truth = planted(random)
        episodes = [record(xml_of(truth), 100 * number + i) for i in range(4)]
        start = time.perf_counter()
        *_, result = calibrate(model, parameters, episodes, [record(xml_of(truth), 100 * number + 50)])
        assert isinstance(result, Calibration) and not result.unidentified
        seconds.append(time.perf_counter() - start)
        assert result.held_out_after is not None and result.held_out_before is not None
        ratios.append(result.held_out_after / result.held_out_before)
        for one in result.estimates:
            true = truth[one.parameter.name]
            errors[one.parameter.field].append(abs(one.value / true - 1))
            assert one.bound is not None
            bounds[one.parameter.field].append(one.bound / true)
            held.append(one.low is not None and one.high is not None and one.low <= true <= one.high)
        print(
            f"{number}: {seconds[-1]:.1f} s, error {result.before:.4f} -> {result.after:.4f} rad, held out "
            f"{result.held_out_before:.4f} -> {result.held_out_after:.4f}",
            flush=True,
        )
    for field, values in errors.items():
        bound = np.array(bounds[field])
        print(
            f"{field}: median error {np.median(values):.2%}, 95 % below {np.quantile(values, 0.95):.2%}, "
            f"largest {max(values):.2%}; Cramer-Rao standard deviation: median {np.median(bound):.2%}, largest "
            f"{bound.max():.2%}; errors within 1.96 of it: {np.mean(values <= 1.96 * bound):.0%}"
        )
    print(
        f"intervals hold the truth: {sum(held)} of {len(held)}; held-out error after / before: largest "
        f"{max(ratios):.2f}; seconds: median {np.median(seconds):.1f}, largest {max(seconds):.1f}"
    )


def unidentifiable() -> None:
    """Print which of ten parameters without effect are named, each calibrated beside two that have one."""
    xml = (
        arm_xml()
        .replace("</worldbody>", STILL)
        .replace("</actuator>", '<position name="a_lid" joint="lid" kp="5"/></actuator>')
    )
    model = mujoco.MjModel.from_xml_string(xml)
    model.actuator_biasprm[model.actuator("a_lid").id, 2] = -1.0
    truth = xml.replace(f'damping="{DAMPINGS[0]}"', 'damping="2.0"')
    episodes = [record(truth, number, 2.5, still=("lid",)) for number in range(2)]
    named = []
    for kind, element, field in UNIDENTIFIABLE:
        chosen = [parameter(model, "joint", "turn", "damping"), parameter(model, kind, element, field)]
        *_, result = calibrate(model, chosen, episodes)
        assert isinstance(result, Calibration)
        named.append([one.parameter.name for one in result.unidentified] == [f"{element}.{field}"])
        print(f"{element}.{field}: {'named' if named[-1] else 'NOT named'}", flush=True)
    print(f"unidentifiable parameters named: {sum(named)} of {len(named)}")


if __name__ == "__main__":
    unidentifiable()
    study(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
