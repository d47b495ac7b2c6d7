"""Vacuum gripper of the arm: its model, and the forces up to which its cup holds.

One bellows cup, 25 mm wide, at 80 kPa below the air pressure, as an electric vacuum gripper (Robotiq EPick) makes it.
The cup holds by a weld that is closed only where it touches, at the relative pose of that moment. The weld's forces are
measured at every step, and it opens when they exceed what the vacuum can hold: pulling off, sliding (shear) or
peeling, the last two less the more it is pulled. The bellows let the lip tilt against a spring, so that an object that
leaves the table on one side first does not peel off at once. See
G. Mantriota, "Theoretical model of the grasp with vacuum gripper", Mechanism and Machine Theory 42 (2007).
"""

from collections.abc import Iterable

import mujoco
import numpy as np

from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX
from pipeline.simulation.robots.description import VISUAL_GROUP

CUP_RADIUS_M = 0.0125
VACUUM_PA = 80e3
PULL_LIMIT_N = VACUUM_PA * np.pi * CUP_RADIUS_M**2
"""Force along the cup's axis at which it is pulled off: 39 N."""
SHEAR_LIMIT_N = 0.5 * PULL_LIMIT_N
"""Force across the axis at which it slides where nothing pulls, with a friction of 0.5."""
PEEL_LIMIT_NM = PULL_LIMIT_N * CUP_RADIUS_M
"""Moment about the cup that lifts one side of its lip where nothing pulls: 0.49 N m."""
_TOOL = f"{ARM_PREFIX}hand/"
VALVE = f"{_TOOL}suction"
"""Actuator without force that records suction on and off among the actions."""
CUP_BODY, CUP_GEOM = f"{_TOOL}lip", f"{_TOOL}cup"
LIP_SITE, FLANGE_JOINT = f"{_TOOL}pinch", f"{ARM_PREFIX}wrist_3_joint"
"""Site at the cup's lip, and the joint to which its valve belongs."""
BELLOWS_STIFFNESS_NM_RAD, BELLOWS_RANGE_RAD = 1.5, 0.26
"""Moment for each radian by which the lip tilts about a level axis, and how far it tilts: 0.39 N m at 15 degrees."""
TOOL_LENGTH_M = 0.1558
"""From the flange to the cup's lip, as long as the two-finger gripper, so that both share their kinematics."""


def specification() -> mujoco.MjSpec:
    """Return the vacuum gripper, names without prefix: flange, tube with a site, and the lip that tilts on bellows."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="base")
    group, cylinder = VISUAL_GROUP, mujoco.mjtGeom.mjGEOM_CYLINDER
    sections = (  # name, radius, from, to, mass, colour
        ("flange", 0.032, 0.0, 0.04, 0.25, (0.2, 0.22, 0.26)),
        ("tube", 0.011, 0.04, 0.128, 0.08, (0.75, 0.77, 0.8)),
        ("bellows", 0.0105, 0.128, 0.15, 0.01, (0.25, 0.25, 0.28)),
        ("cup", CUP_RADIUS_M, 0.15, TOOL_LENGTH_M, 0.01, (0.15, 0.15, 0.17)),
    )
    # 0.012: height above the lip about which it tilts
    hinge = TOOL_LENGTH_M - 0.012
    lip = body.add_body(name="lip", pos=[0, 0, hinge])
    for axis in ([1, 0, 0], [0, 1, 0]):
        lip.add_joint(
            # 0.12: moment for each rad/s, so that a load of 1 kg below the cup swings out
            name=f"bellows_{'xy'[axis[1]]}", axis=axis, stiffness=BELLOWS_STIFFNESS_NM_RAD, damping=0.12,
            armature=4e-4, limited=True, range=[-BELLOWS_RANGE_RAD, BELLOWS_RANGE_RAD],
        )  # fmt: skip
    for name, radius, low, high, mass, rgb in sections:
        owner, height = (lip, (low + high) / 2 - hinge) if name == "cup" else (body, (low + high) / 2)
        owner.add_geom(
            name=name, type=cylinder, size=[radius, (high - low) / 2, 0], pos=[0, 0, height], mass=mass,
            rgba=[*rgb, 1], group=group,
        )  # fmt: skip
    half = float(np.sqrt(0.5))
    body.add_site(name="pinch", pos=[0, 0, TOOL_LENGTH_M], quat=[half, 0, 0, -half])  # axes as the 2F-85's
    return spec


def add_welds(spec: mujoco.MjSpec, bodies: Iterable[str]) -> None:
    """Add one open weld between the cup and each body, and the valve."""
    for body in bodies:
        weld = spec.add_equality(name=weld_name(body), type=mujoco.mjtEq.mjEQ_WELD, active=False)
        weld.name1, weld.name2, weld.objtype = CUP_BODY, body, mujoco.mjtObj.mjOBJ_BODY
        weld.data[:11] = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
        weld.solref, weld.solimp = [0.005, 1], [0.98, 0.999, 0.001, 0.5, 2]
    _add_valve(spec)


def add_joints(spec: mujoco.MjSpec, bodies: Iterable[str]) -> None:
    """Add one open connection between the cup and each drawer or door: the bellows let it tilt on the cup."""
    for body in bodies:
        joint = spec.add_equality(name=weld_name(body), type=mujoco.mjtEq.mjEQ_CONNECT, active=False)
        joint.name1, joint.name2, joint.objtype = CUP_BODY, body, mujoco.mjtObj.mjOBJ_BODY
        joint.solref = [0.02, 1]


def _add_valve(spec: mujoco.MjSpec) -> None:
    valve = spec.add_actuator(name=VALVE, target=FLANGE_JOINT, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    valve.gainprm[0] = 0


def weld_name(body: str) -> str:
    """Return the name of the weld between the cup and a body."""
    return f"suction {body}"


class Vacuum:
    """The cup's vacuum in a running world. Watches its forces at every step and lets go beyond their limits."""

    def __init__(self, physics: Physics):
        self.physics = physics
        self.lost = ""
        """Why the last object was lost; empty while it is held or after it was released."""
        self._weld, self._exceeded = -1, 0
        physics.after_step = self._check

    @property
    def on(self) -> bool:
        """Whether something is held."""
        return self._weld >= 0

    @property
    def weld(self) -> int:
        """Weld that holds an object; -1 for none."""
        return self._weld

    def resume(self, weld: int) -> None:
        """Go on in a state of the world in which this weld is closed; -1 for none."""
        self._weld, self._exceeded, self.lost = weld, 0, ""
        self._set_solid(weld < 0)

    def touched(self) -> np.ndarray:
        """Return the ids of the geoms that the cup touches now, of shape (N,), int."""
        pairs, cup = self.physics.data.contact.geom, self.physics.model.geom(CUP_GEOM).id
        return pairs[(pairs == cup).any(1)].sum(1) - cup if len(pairs) else np.zeros(0, int)

    def grip(self, body: str) -> None:
        """Hold a body at its present pose relative to the cup, which must touch it."""
        physics, model, data = self.physics, self.physics.model, self.physics.data
        weld = model.equality(weld_name(body)).id
        held, cup = data.body(body), data.body(CUP_BODY)
        lip = data.site(LIP_SITE).xpos
        held_from_world, cup_from_world = held.xmat.reshape(3, 3).T, cup.xmat.reshape(3, 3).T
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, (cup_from_world @ held_from_world.T).ravel())
        on_held, on_cup = held_from_world @ (lip - held.xpos), cup_from_world @ (lip - cup.xpos)
        is_weld = model.eq_type[weld] == mujoco.mjtEq.mjEQ_WELD
        model.eq_data[weld, :10] = [*on_held, *on_cup, *quat] if is_weld else [*on_cup, *on_held, 0, 0, 0, 0]
        data.eq_active[weld] = 1
        data.actuator(VALVE).ctrl = 1
        self._set_solid(False)
        self._weld, self._exceeded, self.lost = weld, 0, ""
        physics.wait(0.1)

    def release(self) -> None:
        """Switch the vacuum off."""
        if self.on:
            self.physics.data.eq_active[self._weld] = 0
            self.physics.data.actuator(VALVE).ctrl = 0
            self._set_solid(True)
            self._weld = -1

    def _set_solid(self, solid: bool) -> None:
        """Let the cup collide, or not: while it holds, contact and weld would strain against each other."""
        geom = self.physics.model.geom(CUP_GEOM)
        geom.contype, geom.conaffinity = int(solid), int(solid)

    def forces(self) -> tuple[float, float, float]:
        """Return the pull along the cup's axis in N (negative when pressed), the shear in N and the moment in N m.

        A drawer or door tilts on the bellows, without a moment.

        The rows of a weld are the force at the lip in world axes, and the rotation as half a quaternion
        (mujoco.readthedocs.io, "Equality": weld), so that the moment is half of their norm.
        """
        data = self.physics.data
        rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_id == self._weld)
        values = data.efc_force[rows]
        if not len(values):
            return 0.0, 0.0, 0.0
        axis = data.site(LIP_SITE).xmat.reshape(3, 3)[:, 2]
        pull = float(values[:3] @ axis)
        shear = float(np.linalg.norm(values[:3] - pull * axis))
        return float(pull), shear, float(np.linalg.norm(values[3:])) / 2

    def _check(self) -> None:
        if not self.on:
            return
        pull, shear, moment = self.forces()
        pressed = max(1 - pull / PULL_LIMIT_N, 1e-6)  # share of the vacuum's force that still presses the lip on
        excess = {
            f"was pulled off with {pull:.0f} N, the cup holds {PULL_LIMIT_N:.0f} N": pull / PULL_LIMIT_N,
            f"slid off with {shear:.0f} N across": shear / (SHEAR_LIMIT_N * pressed),
            f"peeled off with {moment:.2f} N m": moment / (PEEL_LIMIT_NM * pressed),
        }
        reason = next((text for text, share in excess.items() if share > 1), "")
        self._exceeded = self._exceeded + 1 if reason else 0
        # Time for which a limit must be exceeded until the vacuum is lost
        if self._exceeded * self.physics.model.opt.timestep >= 0.012:
            self.release()
            self.lost = reason
