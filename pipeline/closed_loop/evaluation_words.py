"""What an evaluation of policies says, in sentences: in the report, on the command line and on the page."""

from collections.abc import Mapping
from typing import Any


def success_words(policy: str, solved: int, share: Mapping[str, Any], count: int) -> str:
    """Return how many conditions a policy solved; `share` has "low" and "high", the ends of its interval."""
    return f"{policy}: {solved} of {count} solved ({share['low']:.0%} to {share['high']:.0%})"


def uncertainty_words(policy: str, found: Mapping[str, Any]) -> str:
    """Return what pairs of conditions say about the twin's uncertainty, of the fields of `ExplainedFailures`."""
    explained = (
        "how many of the failures it explains is unknown"
        if found["explained"] is None
        else f"it explains {found['explained']:.0%} of the failures ({found['low']:.0%} to {found['high']:.0%})"
    )
    return (
        f"{policy}: {found['failed']} of {found['pairs']} fail within the twin's uncertainty, "
        f"{found['failed_as_measured']} with the twin as measured: {explained}"
    )


def difference_words(first: str, second: str, pair: Mapping[str, Any], count: int) -> str:
    """Return how two policies differ over so many conditions, of the fields of `PairedDifference`."""
    better = second if pair["low"] > 0 else first if pair["high"] < 0 else ""
    return (
        f"{second} minus {first}: {100 * pair['difference']:+.0f} percentage points ({100 * pair['low']:+.0f} to "
        f"{100 * pair['high']:+.0f}, p = {pair['p']:.3f}) over {count} conditions; "
        + (f"{better} is better" if better else "neither is surely better")
    )
