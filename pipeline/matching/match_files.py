"""Reading and writing of matches.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.matching.measured import Candidate, Match
from pipeline.store import StoreError


def to_json(matches: Sequence[Match]) -> list[dict[str, Any]]:
    """Return the rows of matches.json."""
    return [
        {
            "segment_id": match.segment_id,
            "asset_id": match.asset_id,
            "scale": match.scale,
            "reason": match.reason,
            "candidates": [
                {
                    "asset_id": c.asset_id,
                    "score": c.score,
                    "scores": dict(c.scores),
                    "reason": c.reason,
                    "scale": c.scale,
                }
                for c in match.candidates
            ],
            "source": match.source,
            "failure": match.failure,
        }
        | ({"machine": list(match.machine)} if match.machine else {})
        | ({"dissent": match.dissent} if match.dissent else {})
        | ({"confidence": match.confidence} if match.confidence is not None else {})
        for match in matches
    ]


def from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Match, ...]:
    """Inverse of `to_json`. A candidate needs no more than an asset id and a score. Raises StoreError."""
    try:
        return tuple(_match(row) for row in rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise StoreError(f"matches.json cannot be read ({reason}); match the objects again") from None


def _match(row: Mapping[str, Any]) -> Match:
    return Match(
        int(row["segment_id"]),
        row["asset_id"],
        float(row["scale"]),
        str(row["reason"]),
        tuple(
            Candidate(
                c["asset_id"], float(c["score"]), c.get("scores", {}), c.get("reason", ""), float(c.get("scale", 1))
            )
            for c in row["candidates"]
        ),
        str(row.get("source", "measured")),
        str(row.get("failure", "")),
        (row["machine"][0], str(row["machine"][1])) if row.get("machine") else None,
        str(row.get("dissent", "")),
        None if row.get("confidence") is None else float(row["confidence"]),
    )
