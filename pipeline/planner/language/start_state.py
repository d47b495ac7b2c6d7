"""How objects stand in the photograph: positions and sizes as a person describes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.planner.plans import TableTop
from pipeline.planner.scene_objects import SceneObject


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

    def side(self, a: SceneObject) -> tuple[float, float]:
        """Return where an object stands within the objects' extent, right and away, each in [0, 1]."""
        shares = []
        for key in ("right", "away"):
            values = [self.measure(o, key) for o in self.objects]
            low, high = min(values), max(values)
            shares.append((self.measure(a, key) - low) / (high - low) if high - low > 1e-6 else 0.5)
        return shares[0], shares[1]

    def ranked(self, objects: Sequence[SceneObject], key: str) -> list[SceneObject]:
        """Return objects by a measure, the least first."""
        return sorted(objects, key=lambda o: (round(self.measure(o, key), 7), o.name))
