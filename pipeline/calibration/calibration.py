"""Calibrate a model's parameters from episodes: estimates with 95 % intervals, and what cannot be identified."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.calibration.fit import SENSOR_MISFIT, CalibrationStep, FitResult, FitState, Fitter, joint_rmse
from pipeline.calibration.parameters import COM_SCALE_M, CalibrationError, ModelParameter, with_values
from pipeline.calibration.trial import Trial, prepare
from pipeline.divergence import Episode

NORMAL_95 = 1.959964
MAX_HALF_WIDTH = 0.4
"""A parameter whose 95 % interval is wider, on the logarithm's scale (a factor of 1.5), or wider than 8 mm for a centre
of mass, is not identified."""


@dataclass(frozen=True)
class EstimatedParameter:
    """A parameter after calibration, in SI units."""

    parameter: ModelParameter
    value: float
    """The model's own value if the parameter is not identified."""
    low: float | None
    """Ends of the 95 % interval; None if the parameter is not identified."""
    high: float | None
    identifiable: bool
    bound: float | None = None
    """Standard deviation that the sensors' noise allows at best (Cramer-Rao), in the parameter's unit; None if the
    parameter is not identified."""
    reason: str = ""
    """Why it is not identified; empty if it is."""


@dataclass(frozen=True, eq=False)
class TrialCurves:
    """One trial before and after, for the report."""

    name: str
    held_out: bool
    times: np.ndarray
    channels: tuple[str, ...]
    measured: np.ndarray
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Calibration:
    """Result of a calibration. Errors are RMSE over all joints and samples, in rad (m for slides)."""

    estimates: tuple[EstimatedParameter, ...]
    before: float
    after: float
    held_out_before: float | None
    held_out_after: float | None
    delay: float
    """Seconds by which the sensors are late, estimated along."""
    delay_low: float
    delay_high: float
    curves: tuple[TrialCurves, ...]
    course: str = "held"
    """Course of the actions between their samples that suits the episodes: held or linear."""

    @property
    def unidentified(self) -> tuple[EstimatedParameter, ...]:
        return tuple(one for one in self.estimates if not one.identifiable)


def calibrate(
    model: mujoco.MjModel,
    parameters: Sequence[ModelParameter],
    episodes: Sequence[Episode],
    held_out: Sequence[Episode] = (),
) -> Iterator[CalibrationStep | Calibration]:
    """Yield a CalibrationStep after each iteration, then the Calibration; closing it early leaves nothing behind.

    Raises CalibrationError where episodes and model do not fit.
    """
    if not episodes:
        raise CalibrationError("there is no episode to calibrate from")
    trials, others = [prepare(model, one) for one in episodes], [prepare(model, one) for one in held_out]
    fitter = Fitter(model, parameters, trials, os.cpu_count() or 1)
    first = fitter.start()
    left_before = fitter.residuals(first)
    result = yield from fitter.run()
    if result.misfit > SENSOR_MISFIT:  # the log may lack actions between its samples
        linear = [one.on_course("linear", model.opt.timestep) for one in trials]
        moving = Fitter(model, parameters, linear, os.cpu_count() or 1)
        other = yield from moving.run()
        # Actions are taken to move linearly between their samples if that leaves less than half of the squared
        # residuals
        if other.misfit < 0.5 * result.misfit:
            fitter, result, trials = moving, other, linear
            others = [one.on_course("linear", model.opt.timestep) for one in others]
    finer = fitter.finer()
    ended = yield from finer.improve(result.state)
    if finer.cost(ended.state) < fitter.cost(result.state):  # else the episodes are of a model with this time step
        result = ended
    estimates = estimate(parameters, result)
    final = with_values(model, parameters, [one.value for one in estimates])
    calibrated = Fitter(final, (), trials, os.cpu_count() or 1)
    state = FitState(np.zeros(0), result.state.delay, result.state.starts)
    left_after = calibrated.residuals(state)
    curves = _curves(trials, left_before, left_after, False)
    held = (None, None)
    if others:
        before = _held_out(Fitter(model, (), others), first.delay)
        after = _held_out(Fitter(final, (), others), result.state.delay)
        held = joint_rmse(others, before), joint_rmse(others, after)
        curves += _curves(others, before, after, True)
    count = len(parameters)
    spread = NORMAL_95 * float(np.sqrt(covariance(result, count)[count, count]))
    yield Calibration(
        estimates, joint_rmse(trials, left_before), joint_rmse(trials, left_after), *held,
        result.state.delay, max(result.state.delay - spread, 0.0), result.state.delay + spread, tuple(curves),
        trials[0].course,
    )  # fmt: skip


def covariance(result: FitResult, count: int) -> np.ndarray:
    """Return the covariance of all that was searched, for `count` parameters: the inverse Fisher information."""
    weight = np.zeros(len(result.information))
    # Inverse variance added to each parameter, so that one without any effect gets a wide interval instead of none
    weight[: count + 1] = 1e-2
    return np.linalg.inv(result.information / result.inflation + np.diag(weight))


def estimate(parameters: Sequence[ModelParameter], result: FitResult) -> tuple[EstimatedParameter, ...]:
    """Return each parameter's value and interval, or why these episodes do not identify it.

    The interval is the noise's 1.96 standard deviations and, added to them, the error of the model's time step and,
    where more than noise is left, what the actions may have done between their samples.
    """
    spread = covariance(result, len(parameters))
    half = NORMAL_95 * np.sqrt(np.diag(spread)[: len(parameters)])
    bounds = half / NORMAL_95 / np.sqrt(result.inflation)
    half += np.abs(result.step_shift[: len(parameters)]) + result.log_shift[: len(parameters)]
    estimates = []
    for number, (parameter, searched) in enumerate(zip(parameters, result.state.searched, strict=True)):
        if half[number] > MAX_HALF_WIDTH:
            reason = _reason(number, parameters, spread, result.information)
            estimates.append(EstimatedParameter(parameter, parameter.initial, None, None, False, None, reason))
        else:
            low, high = (parameter.value(searched + sign * half[number]) for sign in (-1, 1))
            bound = float(bounds[number]) * (COM_SCALE_M if parameter.linear else parameter.value(searched))
            estimates.append(EstimatedParameter(parameter, parameter.value(searched), low, high, True, bound))
    return tuple(estimates)


def _reason(number: int, parameters: Sequence[ModelParameter], spread: np.ndarray, information: np.ndarray) -> str:
    """Say whether a parameter has no effect in the episodes, or which others have the same effect."""
    if information[number, number] < 1 / MAX_HALF_WIDTH**2:
        return "it has too little effect on these episodes"
    correlation = spread[number] / np.sqrt(spread[number, number] * np.diag(spread))
    shared = [
        # Share of an unidentified direction from which a parameter belongs to it
        other.name
        for i, other in enumerate(parameters)
        if i != number and abs(correlation[i]) > 1 - 0.3
    ]
    if shared:
        return f"these episodes cannot tell it from {', '.join(shared)}"
    return "its 95 % interval is wider than a factor of 1.5"


def _held_out(fitter: Fitter, delay: float) -> tuple[np.ndarray, ...]:
    """Return the residuals of episodes that were not fitted; each starts where its first samples at rest are."""
    return fitter.residuals(FitState(np.zeros(0), delay, tuple(t.qpos[t.addresses] for t in fitter.trials)))


def _curves(
    trials: Sequence[Trial], before: Sequence[np.ndarray], after: Sequence[np.ndarray], held_out: bool
) -> list[TrialCurves]:
    return [
        TrialCurves(t.name, held_out, t.times, t.channels, t.measured, t.measured - b, t.measured - a)
        for t, b, a in zip(trials, before, after, strict=True)
    ]
