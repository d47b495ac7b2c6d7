"""What moves the bodies on the screen: live physics, or a recorded trajectory."""

from bisect import bisect_right
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.errors import StudioError

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_RECORDED_HZ = 60
_MOST_STATES = 60 * 120  # two minutes
_STIFFNESS = 500  # of the mouse's spring, N/m per kg; MuJoCo's 100 leaves things on a table 10 cm behind the mouse


class ViewerError(StudioError):
    """Something the viewer cannot open or do."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A rollout that was recorded elsewhere."""

    times: np.ndarray
    """Seconds, rising, of shape (T,)."""
    qpos: np.ndarray
    """MuJoCo's generalised positions, of shape (T, nq)."""

    def __post_init__(self) -> None:
        if len(self.times) == 0 or np.ndim(self.qpos) != 2 or len(self.qpos) != len(self.times):
            raise ViewerError(
                f"The recording has {len(self.times)} times and poses of shape {np.shape(self.qpos)}; "
                "it needs one row of poses for each of at least one time. Run the task again to record it anew."
            )


class Physics:
    """MuJoCo stepping, with a memory of full integration states to go back to exactly."""

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
        """First and last instant one can seek to, in seconds."""
        return self._times[0], max(self._times[-1], self.time)

    def reset(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self._times: list[float] = []
        self._states: list[np.ndarray] = []
        self._remember()

    def advance(self, seconds: float) -> None:
        """Steps as often as fits into that many simulated seconds."""
        self.step(max(1, int(seconds / self.model.opt.timestep + 1e-6)))

    def step(self, count: int) -> None:
        """Steps that often. Raises ViewerError where the physics blew up; it is then back at its start."""
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
                raise ViewerError(f"The physics became unstable at {before:.2f} s and was put back to its start.")
            count -= steps
            if self.time - self._times[-1] > (every - 0.5) * self.model.opt.timestep:
                self._remember()

    def seek(self, time: float) -> None:
        """To the newest remembered state at or before that instant (or the oldest there is), exactly."""
        if self.time > self._times[-1]:
            self._remember()
        state = self._states[max(0, bisect_right(self._times, time + 1e-9) - 1)]
        mujoco.mj_setState(self.model, self.data, state, _STATE)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, state, _STATE)  # forward changed the warm start

    def state(self) -> np.ndarray:
        """The full integration state, of shape (mj_stateSize,)."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, state, _STATE)
        return state

    def push(self, body: int, point: np.ndarray, target: np.ndarray) -> None:
        """Pulls a body's point, given in its own axes, towards a world target by a damped spring until released.

        The spring is MuJoCo's own mouse perturbation (mjv_applyPerturbForce).
        """
        perturb = self._perturb
        if not self._pushing or perturb.select != body:
            perturb.select, perturb.localpos = body, point
            mujoco.mjv_initPerturb(self.model, self.data, self._scene, perturb)
        perturb.active, perturb.refselpos, self._pushing = int(mujoco.mjtPertBit.mjPERT_TRANSLATE), target, True

    def articulate(self, joint: int, value: float) -> None:
        """Puts a hinge or slide there at once, at rest; what follows starts anew from it."""
        _put(self.model, self.data, joint, value)
        self._forget_after(self.time - self.model.opt.timestep)
        self._remember()

    def release(self) -> None:
        self._pushing = False
        self.data.xfrc_applied[:] = 0

    def _remember(self) -> None:
        self._times.append(self.time)
        self._states.append(self.state())
        if len(self._times) > _MOST_STATES:
            del self._times[: _MOST_STATES // 10], self._states[: _MOST_STATES // 10]

    def _forget_after(self, time: float) -> None:
        keep = bisect_right(self._times, time + 1e-9)
        del self._times[keep:], self._states[keep:]


class Layout:
    """A table that stands still and is rearranged by hand: what is dragged follows the mouse over the table."""

    recorded = True
    finished = True

    def __init__(self, model: mujoco.MjModel, qpos: np.ndarray):
        self.model, self.data, self._qpos, self.time = model, mujoco.MjData(model), np.array(qpos), 0.0
        self.span = (0.0, 0.0)
        self.reset()

    @property
    def places(self) -> dict[str, tuple[float, float]]:
        """World x and y in metres of what was dragged, by name."""
        return {self.model.body(body).name: (at[0], at[1]) for body, at in self._dragged.items()}

    def reset(self) -> None:
        self._dragged: dict[int, tuple[float, float]] = {}
        self.data.qpos[:] = self._qpos
        mujoco.mj_forward(self.model, self.data)

    def push(self, body: int, point: np.ndarray, target: np.ndarray) -> None:
        """Carries the body's point, given in its own axes, over the target; it comes to stand on the table."""
        joint = self.model.body_jntadr[body]
        if joint < 0 or self.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
            raise ViewerError("That stands fixed. Drag one of the objects.")
        first = self.model.jnt_qposadr[joint]
        turned = self.data.xmat[body].reshape(3, 3)
        self.data.qpos[first : first + 2] = (target - turned @ point)[:2]
        self.data.qpos[first + 2] -= self._lowest(body)
        mujoco.mj_forward(self.model, self.data)
        self._dragged[body] = (float(self.data.xpos[body][0]), float(self.data.xpos[body][1]))

    def articulate(self, joint: int, value: float) -> None:
        """Puts a hinge or slide there."""
        _put(self.model, self.data, joint, value)

    def _lowest(self, body: int) -> float:
        """Height in metres of its lowest corner, by the boxes around its geoms."""
        geoms = np.flatnonzero(self.model.body_rootid[self.model.geom_bodyid] == body)
        boxes, turned = self.model.geom_aabb[geoms], self.data.geom_xmat[geoms].reshape(-1, 3, 3)[:, 2]
        middle = self.data.geom_xpos[geoms][:, 2] + (turned * boxes[:, :3]).sum(1)
        return float((middle - (np.abs(turned) * boxes[:, 3:]).sum(1)).min())

    def release(self) -> None:
        """What was dragged stays."""

    def advance(self, seconds: float) -> None:
        """Nothing moves by itself."""

    def step(self, count: int) -> None:
        """Nothing moves by itself."""

    def seek(self, time: float) -> None:
        """There is one instant only."""


def _put(model: mujoco.MjModel, data: mujoco.MjData, joint: int, value: float) -> None:
    low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
    data.qpos[model.jnt_qposadr[joint]] = np.clip(value, low, high)
    data.qvel[model.jnt_dofadr[joint]] = 0
    mujoco.mj_forward(model, data)


class Recording:
    """A trajectory on its model. Playing glides from pose to pose; seeking and stepping show poses as recorded."""

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
        apart = times[self._row + 1] - times[self._row]
        towards = np.empty(self.model.nv)
        mujoco.mj_differentiatePos(self.model, towards, float(apart), qpos[self._row], qpos[self._row + 1])
        mujoco.mj_integratePos(self.model, self.data.qpos, towards, float(self.time - times[self._row]))
        mujoco.mj_forward(self.model, self.data)

    def step(self, count: int) -> None:
        at = min(self._row + count, len(self._trajectory.times) - 1)
        self.seek(float(self._trajectory.times[at]))

    def seek(self, time: float) -> None:
        """To the newest recorded pose at or before that instant, or the first or last there is."""
        self.time = float(np.clip(time, *self.span))
        self._row = max(0, int(np.searchsorted(self._trajectory.times, self.time + 1e-9, side="right")) - 1)
        self.data.qpos[:] = self._trajectory.qpos[self._row]
        self.data.time = self.time
        mujoco.mj_forward(self.model, self.data)
