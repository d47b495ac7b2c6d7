"""The motion of a view's bodies: live physics, a recorded trajectory, or a layout that is arranged by hand."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import mujoco
import numpy as np

from pipeline.errors import StudioError
from pipeline.scene.mjcf.background import load_model

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_RECORDED_HZ = 60
_MAX_STATES = 60 * 120  # two minutes
_STIFFNESS = 500  # of the mouse's spring, N/m per kg; MuJoCo's 100 leaves objects on a table 10 cm behind the mouse


class ViewerError(StudioError):
    """A model that the viewer cannot show, or a command that it cannot execute."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A recorded rollout."""

    times: np.ndarray
    """Seconds, rising, of shape (T,)."""
    qpos: np.ndarray
    """MuJoCo's generalised positions, of shape (T, nq)."""

    def __post_init__(self) -> None:
        if len(self.times) == 0 or np.ndim(self.qpos) != 2 or len(self.qpos) != len(self.times):
            raise ViewerError(
                f"The recording has {len(self.times)} times and poses of shape {np.shape(self.qpos)}; "
                "it needs one row of poses for each of at least one time. Run the task again to record it."
            )


class LivePhysics:
    """Live MuJoCo physics. Full integration states are stored, so that seeking back is exact."""

    recorded = False

    def __init__(self, model: mujoco.MjModel):
        self.model, self.data = model, mujoco.MjData(model)
        model.vis.map.stiffness = _STIFFNESS
        self._perturb, self._pushing = mujoco.MjvPerturb(), False
        self.reset()
        self._scene = mujoco.MjvScene(model, maxgeom=1)  # mjv_initPerturb wants one with a camera
        options, camera = mujoco.MjvOption(), mujoco.MjvCamera()
        mujoco.mjv_updateScene(model, self.data, options, self._perturb, camera, 0, self._scene)

    @property
    def time(self) -> float:
        return self.data.time

    @property
    def span(self) -> tuple[float, float]:
        """First and last time to which `seek` can go, in seconds."""
        return self._times[0], max(self._times[-1], self.time)

    def reset(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self._times: list[float] = []
        self._states: list[np.ndarray] = []
        self._store_state()

    def advance(self, seconds: float) -> None:
        """Step as often as fits into that many simulated seconds, at least once."""
        self.step(max(1, int(seconds / self.model.opt.timestep + 1e-6)))

    def step(self, count: int) -> None:
        """Step `count` times. Raises ViewerError if the physics became unstable; it is then reset."""
        self._forget_after(self.time)
        every = max(1, round(1 / _RECORDED_HZ / self.model.opt.timestep))
        while count > 0:
            self.data.xfrc_applied[:] = 0
            if self._pushing:
                mujoco.mjv_applyPerturbForce(self.model, self.data, self._perturb)
            steps, before = min(count, 4 if self._pushing else every), self.time
            mujoco.mj_step(self.model, self.data, nstep=steps)
            if self.time < before:  # MuJoCo resets what it cannot integrate
                self.reset()
                raise ViewerError(f"The physics became unstable at {before:.2f} s and was reset to its start.")
            count -= steps
            if self.time - self._times[-1] > (every - 0.5) * self.model.opt.timestep:
                self._store_state()

    def seek(self, time: float) -> None:
        """Restore the newest stored state at or before that time, or the oldest one."""
        if self.time > self._times[-1]:
            self._store_state()
        state = self._states[max(0, bisect_right(self._times, time + 1e-9) - 1)]
        mujoco.mj_setState(self.model, self.data, state, _STATE)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, state, _STATE)  # forward changed the warm start

    def state(self) -> np.ndarray:
        """Return the full integration state, of shape (mj_stateSize,)."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return state

    def push(self, body: int, point: np.ndarray, target: np.ndarray) -> None:
        """Pull a point of a body, in the body's axes, towards a target in the world by a damped spring until `release`.

        The spring is MuJoCo's own mouse perturbation (mjv_applyPerturbForce).
        """
        perturb = self._perturb
        if not self._pushing or perturb.select != body:
            perturb.select, perturb.localpos = body, point
            mujoco.mjv_initPerturb(self.model, self.data, self._scene, perturb)
        perturb.active, perturb.refselpos, self._pushing = int(mujoco.mjtPertBit.mjPERT_TRANSLATE), target, True

    def articulate(self, joint: int, value: float) -> None:
        """Set a hinge (rad) or slide (m) at once and at rest. Later stored states are dropped."""
        _set_joint(self.model, self.data, joint, value)
        self._forget_after(self.time - self.model.opt.timestep)
        self._store_state()

    def release(self) -> None:
        self._pushing = False
        self.data.xfrc_applied[:] = 0

    def _store_state(self) -> None:
        self._times.append(self.time)
        self._states.append(self.state())
        if len(self._times) > _MAX_STATES:
            del self._times[: _MAX_STATES // 10], self._states[: _MAX_STATES // 10]

    def _forget_after(self, time: float) -> None:
        count = bisect_right(self._times, time + 1e-9)
        del self._times[count:], self._states[count:]


class Layout:
    """A static scene that is arranged by hand: a dragged object follows the mouse over the table."""

    recorded = True
    finished = True

    def __init__(self, model: mujoco.MjModel, qpos: np.ndarray):
        self.model, self.data, self._qpos, self.time = model, mujoco.MjData(model), np.array(qpos), 0.0
        self.span = (0.0, 0.0)
        self.reset()

    @property
    def dragged_positions(self) -> dict[str, tuple[float, float]]:
        """World x and y in metres of the bodies that were dragged, by name."""
        return {self.model.body(body).name: (at[0], at[1]) for body, at in self._dragged.items()}

    def reset(self) -> None:
        self._dragged: dict[int, tuple[float, float]] = {}
        self.data.qpos[:] = self._qpos
        mujoco.mj_forward(self.model, self.data)

    def push(self, body: int, point: np.ndarray, target: np.ndarray) -> None:
        """Move a body on the table so that its point, in the body's axes, is above or below the target in the world."""
        joint = self.model.body_jntadr[body]
        if joint < 0 or self.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            raise ViewerError("That body is fixed. Drag one of the objects.")
        first = self.model.jnt_qposadr[joint]
        rotation = self.data.xmat[body].reshape(3, 3)
        self.data.qpos[first : first + 2] = (target - rotation @ point)[:2]
        self.data.qpos[first + 2] -= self._lowest_point(body)
        mujoco.mj_forward(self.model, self.data)
        self._dragged[body] = (float(self.data.xpos[body][0]), float(self.data.xpos[body][1]))

    def articulate(self, joint: int, value: float) -> None:
        """Set a hinge (rad) or slide (m)."""
        _set_joint(self.model, self.data, joint, value)

    def _lowest_point(self, body: int) -> float:
        """Return the height in metres of the body's lowest corner, by the boxes around its geoms."""
        geoms = np.flatnonzero(self.model.body_rootid[self.model.geom_bodyid] == body)
        boxes, z_rows = self.model.geom_aabb[geoms], self.data.geom_xmat[geoms].reshape(-1, 3, 3)[:, 2]
        centres = self.data.geom_xpos[geoms][:, 2] + (z_rows * boxes[:, :3]).sum(1)
        return float((centres - (np.abs(z_rows) * boxes[:, 3:]).sum(1)).min())

    def release(self) -> None:
        """Do nothing: a dragged object stays where it is."""

    def advance(self, seconds: float) -> None:
        """Do nothing: the scene is static."""

    def step(self, count: int) -> None:
        """Do nothing: the scene is static."""

    def seek(self, time: float) -> None:
        """Do nothing: there is one time only."""


def _set_joint(model: mujoco.MjModel, data: mujoco.MjData, joint: int, value: float) -> None:
    low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
    data.qpos[model.jnt_qposadr[joint]] = np.clip(value, low, high)
    data.qvel[model.jnt_dofadr[joint]] = 0
    mujoco.mj_forward(model, data)


class RecordedMotion:
    """A trajectory on its model. Playing interpolates between poses; seeking and stepping show recorded poses."""

    recorded = True

    def __init__(self, model: mujoco.MjModel, trajectory: Trajectory):
        if trajectory.qpos.shape[1] != model.nq:
            raise ViewerError(
                f"The recording has {trajectory.qpos.shape[1]} coordinates and the model {model.nq}: "
                "they do not belong together. Open the recording on the model it was made with."
            )
        self.model, self.data, self._trajectory = model, mujoco.MjData(model), trajectory
        self.reset()

    @property
    def span(self) -> tuple[float, float]:
        return float(self._trajectory.times[0]), float(self._trajectory.times[-1])

    @property
    def finished(self) -> bool:
        return self.time >= self.span[1]

    def reset(self) -> None:
        self.seek(self.span[0])

    def advance(self, seconds: float) -> None:
        self.seek(self.time + seconds)
        if self.finished:
            return
        times, qpos = self._trajectory.times, self._trajectory.qpos
        interval = times[self._row + 1] - times[self._row]
        velocity = np.empty(self.model.nv)
        mujoco.mj_differentiatePos(self.model, velocity, float(interval), qpos[self._row], qpos[self._row + 1])
        mujoco.mj_integratePos(self.model, self.data.qpos, velocity, float(self.time - times[self._row]))
        mujoco.mj_forward(self.model, self.data)

    def step(self, count: int) -> None:
        row = min(self._row + count, len(self._trajectory.times) - 1)
        self.seek(float(self._trajectory.times[row]))

    def seek(self, time: float) -> None:
        """Show the newest recorded pose at or before that time, clipped to the recording's span."""
        self.time = float(np.clip(time, *self.span))
        self._row = max(0, int(np.searchsorted(self._trajectory.times, self.time + 1e-9, side="right")) - 1)
        self.data.qpos[:] = self._trajectory.qpos[self._row]
        self.data.time = self.time
        mujoco.mj_forward(self.model, self.data)

    def poses(self, name: str) -> np.ndarray | None:
        """Return position and quaternion wxyz of a free body over time, of shape (T, 7); None if it is not free."""
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        joint = self.model.body_jntadr[body] if body >= 0 else -1
        if joint < 0 or self.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            return None
        first = self.model.jnt_qposadr[joint]
        return self._trajectory.qpos[:, first : first + 7]

    def points_around(self, names: Sequence[str]) -> np.ndarray | None:
        """Return points (N, 3), world, m, around bodies and all that moves in the recording, robot included.

        They are the outermost of 32 instants in 26 directions. None if there is no such body.
        """
        model, data = self.model, mujoco.MjData(self.model)
        bodies = {mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names} - {-1}
        if not bodies:
            return None
        # Instants of a recording from which is read where its bodies go
        rows = np.unique(np.linspace(0, len(self._trajectory.times) - 1, 32).astype(int))
        centres, halves = np.empty((2, len(rows), model.ngeom, 3))
        for instant, row in enumerate(rows):
            data.qpos[:] = self._trajectory.qpos[row]
            mujoco.mj_kinematics(model, data)
            world_from_geom = data.geom_xmat.reshape(-1, 3, 3)
            centres[instant] = data.geom_xpos + np.einsum("gij,gj->gi", world_from_geom, model.geom_aabb[:, :3])
            halves[instant] = np.einsum("gij,gj->gi", np.abs(world_from_geom), model.geom_aabb[:, 3:])
        # Way above which something counts as moving
        moves = np.ptp(centres, axis=0).max(-1) > 0.002
        framed = moves | np.isin(model.geom_bodyid, list(bodies))
        signs = np.array(list(product((-1, 1), repeat=3)))
        corners = (centres[:, framed, None] + halves[:, framed, None] * signs).reshape(-1, 3)
        directions = np.array(list(product((-1, 0, 1), repeat=3)))
        return corners[np.unique(np.argmax(corners @ directions.T, axis=0))]


def compile_model(model: mujoco.MjModel | Path | str) -> mujoco.MjModel:
    """Return a compiled model, given it, a file of MJCF, or MJCF text. Raises ViewerError if MuJoCo refuses it."""
    if isinstance(model, mujoco.MjModel):
        return model
    try:
        if isinstance(model, Path):
            return load_model(model)
        return mujoco.MjModel.from_xml_string(model)
    except ValueError as error:
        name = model.name if isinstance(model, Path) else "The model"
        reason = " ".join(str(error).split())
        raise ViewerError(f"{name} cannot be shown. MuJoCo: {reason}. Build the scene again.") from error
