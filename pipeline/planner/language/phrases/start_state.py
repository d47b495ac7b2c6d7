"""How objects stand in the photograph: relations and positions as a person describes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.planner.plans import TableTop
from pipeline.planner.scene_objects import SceneObject, rests_on
from pipeline.simulation.goals.distance import near_distance

MIN_LEAD = 0.01
"""Metres by which a centre lies to a side of another one."""


@dataclass(frozen=True)
class StartState:
    """The objects of the photograph on their table."""

    objects: tuple[SceneObject, ...]
    table: TableTop

    def measure(self, o: SceneObject, key: str) -> float:
        """Return "volume", "height" or "width" (m), or the position "right" or "away" as the camera sees it (m)."""
        if key in ("right", "away"):
            axis = self.table.right if key == "right" else self.table.away
            return o.position[0] * axis[0] + o.position[1] * axis[1]
        return getattr(o, key)

    def distance(self, a: SceneObject, b: SceneObject) -> float:
        """Return metres between two centres on the ground."""
        return float(np.hypot(*np.subtract(a.position[:2], b.position[:2])))

    def holds(self, relation: str, a: SceneObject, b: SceneObject) -> bool:
        """Return whether a stands in a relation (a key of the lexicon's relations) to b."""
        if a == b:
            return False
        if relation in ("on", "inside"):
            return b == self.support(a)
        if relation == "near":
            return self.distance(a, b) < near_distance(a, b)
        if relation == "away":
            return self.distance(a, b) > near_distance(a, b) + 0.05
        sides = {"left_of": ("right", -1), "right_of": ("right", 1), "in_front_of": ("away", -1), "behind": ("away", 1)}
        if relation not in sides:
            return False
        key, sign = sides[relation]
        return (self.measure(a, key) - self.measure(b, key)) * sign > MIN_LEAD

    def support(self, a: SceneObject) -> SceneObject | None:
        """Return what an object rests on or in; None for the table."""
        return next((b for b in self.objects if rests_on(a, b)), None)

    def side(self, a: SceneObject) -> tuple[float, float]:
        """Return where an object stands within the objects' extent, right and away, each in [0, 1]."""
        shares = []
        for key in ("right", "away"):
            values = [self.measure(o, key) for o in self.objects]
            low, high = min(values), max(values)
            shares.append((self.measure(a, key) - low) / (high - low) if high - low > 1e-6 else 0.5)
        return shares[0], shares[1]

    def is_at(self, place: str, a: SceneObject) -> bool:
        """Return whether an object stands on a side: "left", "right", "near", "far" or "middle"."""
        right, away = self.side(a)
        return {
            "left": right < 0.4, "right": right > 0.6, "near": away < 0.4, "far": away > 0.6,
            "middle": 0.3 < right < 0.7 and 0.3 < away < 0.7,
        }.get(place, False)  # fmt: skip

    def ranked(self, objects: Sequence[SceneObject], key: str) -> list[SceneObject]:
        """Return objects by a measure, the least first."""
        return sorted(objects, key=lambda o: (round(self.measure(o, key), 7), o.name))

    def is_between(self, a: SceneObject, b: SceneObject, c: SceneObject) -> bool:
        """Return whether a stands between b and c, near the line from one to the other."""
        ends = np.array([b.position[:2], c.position[:2]])
        line = ends[1] - ends[0]
        share = float((a.position[:2] - ends[0]) @ line / (line @ line + 1e-9))
        aside = float(np.linalg.norm(a.position[:2] - ends[0] - share * line))
        return 0.1 < share < 0.9 and aside < a.diagonal / 2 + 0.03

    def place_between(self, a: SceneObject, b: SceneObject, c: SceneObject) -> tuple[float, float] | None:
        """Return world x and y (m) of a free place for a between b and c; None where there is none."""
        ends = np.array([b.position[:2], c.position[:2]])
        line = ends[1] - ends[0]
        across = np.array([-line[1], line[0]]) / (np.linalg.norm(line) + 1e-9)
        others = [o for o in self.objects if o != a]
        for aside in (0.0, 0.03, -0.03, 0.06, -0.06):
            for share in (0.5, 0.4, 0.6, 0.3, 0.7):
                place = ends[0] + share * line + aside * across
                gaps = [np.hypot(*(place - o.position[:2])) - (a.diagonal + o.diagonal) / 2 for o in others]
                if min(gaps, default=1.0) > 0.005 and self.table.holds(place, a.narrow / 2):
                    return round(float(place[0]), 3), round(float(place[1]), 3)
        return None
