"""The moment of a rollout that a check is about."""

from pipeline.simulation import CheckResult
from pipeline.simulation.run_record import RunRecord


def check_instant(check: CheckResult, record: RunRecord) -> float:
    """Return the simulated time in seconds that a check is about.

    Its own where it names one, the oracle's first failure for a failed check, else the end.
    """
    end = float(record.times[-1])
    if check.instant is not None:
        return min(max(check.instant, float(record.times[0])), end)
    failures = [event for event in record.events if not event["ok"] and event["time"] is not None]
    return min(float(failures[0]["time"]), end) if failures and not check.passed else end
