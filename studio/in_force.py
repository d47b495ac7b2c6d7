"""An object of the twin as it was decided to be, before the twin is there: what a page shows at once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline.assets import Library
from pipeline.decisions import Decision
from pipeline.scene.given import KINDS, Given, given_by, weigh
from pipeline.scene.placement import Found, Placement
from studio.session import Session


@dataclass(frozen=True, eq=False)
class Standing:
    """One object, as it will be where what was said of it changed since the twin was made."""

    placement: Placement
    twins: Placement
    """As the twin has it."""
    given: Given
    changed: bool


def standing(session: Session) -> tuple[Standing, ...]:
    """Every object of the twin, with what is in force; empty while there is none."""
    scene = session.kept("scene", "scene.json", session.project.scene)
    if scene is None:
        return ()
    now = said(session.project.decided(*KINDS))
    made = session.kept("said", "scene.json", lambda: now)
    stale = session.project.stages()["scene"] != "done"

    def one(p: Placement) -> Standing:
        mine = now.get(p.segment_id, ())
        given, changed = given_by(mine).get(p.segment_id, Given()), stale and mine != made.get(p.segment_id, ())
        return Standing(placed(p, given, session.services.library) if changed else p, p, given, changed)

    return tuple(map(one, scene.placements))


def said(decisions: Iterable[Decision]) -> dict[int, tuple[Decision, ...]]:
    """What was decided of each object in order, by segment id."""
    of: dict[int, tuple[Decision, ...]] = {}
    for one in decisions:
        of[one.data["id"]] = (*of.get(one.data["id"], ()), one)
    return of


def placed(twins: Placement, given: Given, library: Library) -> Placement:
    """The twin's placement with what is in force in it.

    Where registration is yet to look it stands as it does; a weight nobody knows before the twin is made has no source.
    """
    had = twins.found or Found(twins.world_from_object, twins.scale)
    by_hand = given.pose is not None or given.scale is not None
    pose = twins.world_from_object if by_hand and given.refit else given.pose or had.world_from_object
    scale = given.scale or had.scale
    own = _own(twins, scale, library)
    return weigh(replace(own, world_from_object=pose, scale=scale, found=had if by_hand else None), given)


def _own(p: Placement, scale: float, library: Library) -> Placement:
    """With the mass and friction it has when nobody says others."""
    if p.asset_id is None or p.asset_id not in library:
        unknown = {name: "" for name in ("mass_source", "friction_source") if _was_said(getattr(p, name))}
        return replace(p, **unknown)
    asset = library[p.asset_id]
    low, high = asset.mass_range
    return replace(
        p,
        mass=asset.mass * scale**3,
        mass_range=(low * scale**3, high * scale**3),
        mass_source=asset.mass_source,
        friction=asset.friction,
        friction_range=asset.friction_range,
        friction_source=asset.friction_source,
    )


def _was_said(source: str) -> bool:
    return source == "person" or source.startswith("model ")
