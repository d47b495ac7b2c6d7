"""Least squares over rollouts: Levenberg-Marquardt on parameters, one delay and each episode's start.

The start and the sensor's delay are estimated along, since an error of either looks like one of the parameters.
Residuals are weighted by the noise of their channel. Levenberg-Marquardt as in Nocedal and Wright, section 10.3.
"""

import copy
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from pipeline.calibration.parameters import CalibrationError, ModelParameter, with_values
from pipeline.calibration.trial import Trial, channel_noise, simulate

MAX_DELAY_S = 0.3
STEP, START_STEP, DELAY_STEP_S = 1e-3, 1e-4, 1e-4
"""Finite differences: of a searched parameter (0.1 %), of a start in radians or metres, of the delay."""
PRIOR = 2.0
"""Standard deviation of a parameter about the start of the search: a factor of e². Wide beside what episodes tell; it
keeps apart what they do not tell."""
ITERATIONS = 25
RESTARTS, RESTART_STD, GOOD_MISFIT = 4, 0.5, 1.06
"""Searches from other values, how far they are (standard deviation, a factor of 1.6), and the mean square of residuals
over noise below which none is tried. Of 40 planted arms 17 had a worse minimum nearest to the model's own values."""
SENSOR_MISFIT = 1.5
"""Mean square of residuals over the sensors' noise above which more than noise is left."""
BETWEEN = {"held": ("linear",), "linear": ("smooth", "nearest")}
"""Courses of actions that show how much the assumed one matters."""
TOLERANCE = 1e-4
"""Relative decrease of the cost at which the search ends."""


@dataclass(frozen=True)
class CalibrationStep:
    """One iteration of the search."""

    number: int
    rmse: float
    """Over all joints and samples, in rad (m for slides)."""
    delay: float


@dataclass(frozen=True, eq=False)
class FitState:
    """What is searched."""

    searched: np.ndarray
    """Of the parameters, without unit, of shape (P,)."""
    delay: float
    """Seconds by which the sensors are late."""
    starts: tuple[np.ndarray, ...]
    """Start positions of the measured joints of each trial, each of shape (J,)."""


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fit and its curvature."""

    state: FitState
    information: np.ndarray
    """Fisher information of parameters, delay and starts, of shape (P + 1 + sum J,) squared, without the parameters'
    prior."""
    inflation: float
    """Factor of the variances for residuals that are not white: their integrated autocorrelation time, at least 1."""
    residuals: tuple[np.ndarray, ...]
    """Of each trial, measured minus predicted, of shape (T, C), in rad and m."""
    step_shift: np.ndarray
    """By how much the parameters and the delay would change for a time step near zero, of shape (P + 1,)."""
    log_shift: np.ndarray
    """By how much they could change for other courses of the actions between their samples, of shape (P + 1,). Zero
    where held actions leave the sensors' noise alone: the log then has each action."""
    misfit: float
    """Mean square of residuals over the sensors' noise: about 1 if noise alone is left."""


class Fitter:
    """Fits parameters of a model to trials. `workers` are the data of its threads."""

    def __init__(
        self, model: mujoco.MjModel, parameters: Sequence[ModelParameter], trials: Sequence[Trial], threads: int = 2
    ) -> None:
        self.model, self.parameters, self.trials = model, tuple(parameters), tuple(trials)
        self._workers = [mujoco.MjData(model) for _ in range(max(threads, 1))]
        self._prior_mean = np.array([one.start for one in parameters])
        self._noise = [channel_noise(trial.measured) for trial in trials]
        self._sensor_noise = self._noise
        # A start is the mean of samples at rest. A freer one lets an arm that friction holds begin elsewhere and slip.
        self._start_noise = [
            noise[: trial.joints] / np.sqrt(min(trial.rest, 16))
            for noise, trial in zip(self._noise, trials, strict=True)
        ]

    def start(self) -> FitState:
        """Return the model's own values with the delay that suits them best."""
        state = FitState(self._prior_mean, 0.0, tuple(trial.qpos[trial.addresses] for trial in self.trials))
        return self.fit_delay(state)

    def fit_delay(self, state: FitState) -> FitState:
        """Return the state with the delay of least cost, to a millisecond; everything else stays."""
        simulated = self._simulate(state)
        delays = np.concatenate((np.arange(0, 0.06, 0.002), np.arange(0.06, MAX_DELAY_S, 0.01)))
        costs = [self._cost(replace(state, delay=float(d)), self._residuals(simulated, float(d))) for d in delays]
        return replace(state, delay=float(delays[int(np.nanargmin(costs))]))

    def residuals(self, state: FitState) -> tuple[np.ndarray, ...]:
        """Return measured minus predicted of each trial, of shape (T, C)."""
        return tuple(self._residuals(self._simulate(state), state.delay))

    def run(self) -> Generator[CalibrationStep, None, FitResult]:
        """Yield after each iteration; return the fit.

        Raises CalibrationError if the model is unstable at the start.
        """
        state, number = self.start(), 0
        for phase in range(2):  # the second one weighs each channel by what the fitted model leaves of it
            for begin in self._begins(state) if not phase else (state,):
                candidate = begin
                for candidate in self._search(begin):
                    number += 1
                    yield self._step(number, candidate)
                state = min(state, candidate, key=lambda one: self._cost(one, self.residuals(one)))
                if self._is_good(state):
                    break
            squares = [r**2 for r in self.residuals(state)]
            if len({trial.channels for trial in self.trials}) == 1:
                squares = [np.concatenate(squares)] * len(squares)
            self._noise = [np.sqrt(one.mean(axis=0)) + 1e-9 for one in squares]
        return self._result(state)

    def finer(self) -> "Fitter":
        """Return the fitter with a shorter time step and the same weights."""
        model = copy.copy(self.model)
        # Part of the model's time step with which the search ends: its error moved friction losses by 1 %, some by 4 %
        model.opt.timestep = self.model.opt.timestep / 4
        fitter = Fitter(model, self.parameters, [one.refined(model.opt.timestep) for one in self.trials])
        fitter._workers, fitter._noise = [mujoco.MjData(model) for _ in self._workers], self._noise
        return fitter

    def improve(self, state: FitState) -> Generator[CalibrationStep, None, FitResult]:
        """Do as `run` does, for a search that begins at a state and keeps the weights."""
        for number, found in enumerate(self._search(state), 1):
            state = found
            yield self._step(number, state)
        return self._result(state)

    def _step(self, number: int, state: FitState) -> CalibrationStep:
        return CalibrationStep(number, joint_rmse(self.trials, self.residuals(state)), state.delay)

    def cost(self, state: FitState) -> float:
        """Return half the weighted sum of squares that is minimised."""
        return self._cost(state, self.residuals(state))

    def _is_good(self, state: FitState) -> bool:
        """Return whether a minimum leaves noise alone."""
        if self._misfit(state) >= GOOD_MISFIT:
            return False
        # Autocorrelation time of the residuals above which others are tried too: a worse minimum may leave no more than
        # the sensors' noise and still be 4 % off in friction loss, but what it leaves is a course, not noise
        return autocorrelation_time(self.residuals(state), self._noise) < 2.0

    def _begins(self, state: FitState) -> Iterator[FitState]:
        """Yield where to search from: the model's own values, then others, since sticking has several minima."""
        yield state
        friction = np.array([RESTART_STD * ("friction" in one.field) for one in self.parameters])
        random = np.random.default_rng(0)
        kicks = [friction, -friction] if friction.any() else []
        for kick in [*kicks, *random.normal(0, RESTART_STD, (RESTARTS - len(kicks), len(self.parameters)))]:
            yield self.fit_delay(replace(state, searched=state.searched + kick))

    def _misfit(self, state: FitState) -> float:
        """Return the mean square of the weighted residuals: 1 if noise alone is left."""
        return 2 * self._cost(state, self.residuals(state)) / sum(trial.measured.size for trial in self.trials)

    def _result(self, state: FitState) -> FitResult:
        """Return the fit with its curvature, and what half the time step or another course of actions would change."""
        left = self.residuals(state)
        fine = copy.copy(self.model)
        fine.opt.timestep = self.model.opt.timestep / 2
        refined = Fitter(fine, self.parameters, [one.refined(fine.opt.timestep) for one in self.trials])
        # The error of the integrator is of first order: from half a step to none is as far again.
        step_shift = 2 * self._shift(state, left, refined)
        log_shift = np.zeros_like(step_shift)
        weighted = [(r / n).ravel() ** 2 for r, n in zip(left, self._sensor_noise, strict=True)]
        misfit = float(np.concatenate(weighted).mean())
        if misfit > SENSOR_MISFIT or self.trials[0].course != "held":
            for course in BETWEEN[self.trials[0].course]:
                between = [one.on_course(course, self.model.opt.timestep) for one in self.trials]
                log_shift += np.abs(self._shift(state, left, Fitter(self.model, self.parameters, between)))
        matrix, _, _ = self._normal_equations(state)
        count = len(self.parameters) + 1
        matrix += np.diag(np.concatenate((np.zeros(count), *(noise**-2 for noise in self._start_noise))))
        inflation = autocorrelation_time(left, self._noise)
        return FitResult(state, matrix, inflation, tuple(left), step_shift, log_shift, misfit)

    def _shift(self, state: FitState, left: Sequence[np.ndarray], other: "Fitter") -> np.ndarray:
        """Return how the parameters and the delay would change if another fitter's trials were the true ones."""
        other._workers = self._workers
        changed = [a - b for a, b in zip(other.residuals(state), left, strict=True)]
        matrix, gradient, _ = self._normal_equations(state, changed)
        prior, _ = self._with_priors(matrix, gradient, state)
        return np.linalg.solve(prior, gradient)[: len(self.parameters) + 1]

    def _search(self, state: FitState) -> Iterator[FitState]:
        damping, cost = 1e-3, self._cost(state, self.residuals(state))
        if not np.isfinite(cost):
            raise CalibrationError(
                "the model is unstable under the episodes' actions; check its gains and its timestep"
            )
        for _ in range(ITERATIONS):
            matrix, gradient, _ = self._normal_equations(state)
            matrix, gradient = self._with_priors(matrix, gradient, state)
            gained = 0.0
            for _ in range(8):
                step = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), gradient)
                candidate = self._moved(state, step)
                new_cost = self._cost(candidate, self.residuals(candidate))
                if new_cost < cost:
                    gained, cost, state, damping = (cost - new_cost) / cost, new_cost, candidate, damping / 5
                    break
                damping *= 4
            yield state
            if gained < TOLERANCE:
                return

    def _moved(self, state: FitState, step: np.ndarray) -> FitState:
        count, at = len(self.parameters), len(self.parameters) + 1
        starts = []
        for start in state.starts:
            starts.append(start + step[at : at + len(start)])
            at += len(start)
        change = np.clip(step[:count], -1.0, 1.0)
        delay = float(np.clip(state.delay + step[count], 0.0, MAX_DELAY_S))
        return FitState(state.searched + change, delay, tuple(starts))

    def _models(self, rows: np.ndarray) -> list[mujoco.MjModel]:
        """Return the model with each row (P,) of searched values."""
        return [
            with_values(self.model, self.parameters, [p.value(v) for p, v in zip(self.parameters, row, strict=True)])
            for row in rows
        ]

    def _simulate(self, state: FitState) -> list[np.ndarray]:
        models = self._models(state.searched[None])
        return [
            simulate(models, trial, _with_start(trial, start)[None], self._workers)[0]
            for trial, start in zip(self.trials, state.starts, strict=True)
        ]

    def _residuals(self, simulated: Sequence[np.ndarray], delay: float) -> list[np.ndarray]:
        step = self.model.opt.timestep
        return [t.measured - t.predict(s, delay, step) for t, s in zip(self.trials, simulated, strict=True)]

    def _cost(self, state: FitState, residuals: Sequence[np.ndarray]) -> float:
        """Return half the weighted sum of squares, with the priors; infinite for an unstable model."""
        cost = sum(float(((r / noise) ** 2).sum()) for r, noise in zip(residuals, self._noise, strict=True))
        cost += float((((state.searched - self._prior_mean) / PRIOR) ** 2).sum())
        for trial, start, noise in zip(self.trials, state.starts, self._start_noise, strict=True):
            cost += float((((start - trial.qpos[trial.addresses]) / noise) ** 2).sum())
        return cost / 2 if np.isfinite(cost) else np.inf

    def _normal_equations(
        self, state: FitState, instead: Sequence[np.ndarray] = ()
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Return J'WJ, J'Wr and the residuals r of all trials; J is of the prediction. `instead` replaces r."""
        count = len(self.parameters)
        size = count + 1 + sum(len(start) for start in state.starts)
        matrix, gradient, left = np.zeros((size, size)), np.zeros(size), []
        models = self._models(np.vstack((state.searched, state.searched + STEP * np.eye(count))))
        at = count + 1
        for number, (trial, start, noise) in enumerate(zip(self.trials, state.starts, self._noise, strict=True)):
            jacobian, residual = self._jacobian(trial, start, models, state.delay)
            residual = instead[number] if instead else residual
            own = np.concatenate((np.arange(count + 1), np.arange(at, at + len(start))))
            weighted = (jacobian / noise).reshape(len(own), -1)
            matrix[np.ix_(own, own)] += weighted @ weighted.T
            gradient[own] += weighted @ (residual / noise).ravel()
            left.append(residual)
            at += len(start)
        return matrix, gradient, left

    def _jacobian(
        self, trial: Trial, start: np.ndarray, models: Sequence[mujoco.MjModel], delay: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives (P + 1 + J, T, C) of the prediction, and the residual (T, C)."""
        step = self.model.opt.timestep
        starts = np.vstack(
            [_with_start(trial, start)] * len(models)
            + [_with_start(trial, start + START_STEP * row) for row in np.eye(len(start))]
        )
        simulated = simulate([*models, *[models[0]] * len(start)], trial, starts, self._workers)
        predicted = trial.predict(simulated, delay, step)
        late = trial.predict(simulated[0], delay + DELAY_STEP_S, step)
        by_parameter = (predicted[1 : len(models)] - predicted[0]) / STEP
        by_start = (predicted[len(models) :] - predicted[0]) / START_STEP
        by_delay = (late - predicted[0])[None] / DELAY_STEP_S
        jacobian = np.concatenate((by_parameter, by_delay, by_start))
        if not np.isfinite(jacobian).all():
            raise CalibrationError(f"the model is unstable near its present values under the actions of {trial.name}")
        return jacobian, trial.measured - predicted[0]

    def _with_priors(self, matrix: np.ndarray, gradient: np.ndarray, state: FitState) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.parameters)
        weight = np.concatenate((np.full(count, PRIOR**-2), [1e-6], *(noise**-2 for noise in self._start_noise)))
        measured = [trial.qpos[trial.addresses] for trial in self.trials]
        away = np.concatenate(
            (self._prior_mean - state.searched, [0.0], *(m - s for m, s in zip(measured, state.starts, strict=True)))
        )
        return matrix + np.diag(weight), gradient + weight * away


def _with_start(trial: Trial, start: np.ndarray) -> np.ndarray:
    qpos = trial.qpos.copy()
    qpos[trial.addresses] = start
    return qpos


def joint_rmse(trials: Sequence[Trial], residuals: Sequence[np.ndarray]) -> float:
    """Return the root of the mean of squares over all samples and joints, in rad (m for slides).

    Where no joint is measured: over the objects' channels.
    """
    squares = [r[:, : trial.joints or None] ** 2 for trial, r in zip(trials, residuals, strict=True)]
    return float(np.sqrt(sum(s.sum() for s in squares) / sum(s.size for s in squares)))


def autocorrelation_time(residuals: Sequence[np.ndarray], noise: Sequence[np.ndarray]) -> float:
    """Return 1 + 2 sum of the autocorrelations of the weighted residuals up to the first one below 0.05, at least 1."""
    lags = min(50, min(len(r) for r in residuals) // 4)
    total = np.zeros(lags + 1)
    for residual, scale in zip(residuals, noise, strict=True):
        weighted = residual / scale
        for lag in range(lags + 1):
            total[lag] += float((weighted[: len(weighted) - lag] * weighted[lag:]).sum())
    correlation = total[1:] / max(total[0], 1e-300)
    last = int(np.argmax(correlation < 0.05)) if (correlation < 0.05).any() else len(correlation)
    return max(1.0, float(1 + 2 * correlation[:last].sum()))
