"""Pending edits: objects of the twin as a person decided them, shown before the twin is rebuilt."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline.assets import Asset, Library
from pipeline.assets.categories import GUESSED
from pipeline.decisions import Decision
from pipeline.scene.overrides import DECISION_KINDS, Override, override_physics, overrides_from_decisions
from pipeline.scene.placement import MachinePose, Placement
from studio.sessions.session import Session


@dataclass(frozen=True, eq=False)
class PendingPlacement:
    """One object of the twin, with the decisions about it that the twin does not contain yet."""

    placement: Placement
    """With the decisions applied."""
    built: Placement
    """As it is in the twin."""
    override: Override
    changed: bool
    """Whether decisions about it have changed since the twin was built."""


def pending_placements(session: Session) -> tuple[PendingPlacement, ...]:
    """Return every object of the twin with the present decisions applied; () while there is no twin."""
    scene = session.cache.get("scene", "scene.json", session.project.scene)
    if scene is None:
        return ()
    present = decisions_by_object(session.project.active_decisions(*DECISION_KINDS))
    built = session.cache.get("built decisions", "scene.json", lambda: present)
    is_outdated = session.project.stages()["scene"] != "done"

    def pending(p: Placement) -> PendingPlacement:
        decisions = present.get(p.segment_id, ())
        override = overrides_from_decisions(decisions).get(p.segment_id, Override())
        changed = is_outdated and decisions != built.get(p.segment_id, ())
        placement = apply_override(p, override, session.services.library) if changed else p
        return PendingPlacement(placement, p, override, changed)

    return tuple(map(pending, scene.placements))


def decisions_by_object(decisions: Iterable[Decision]) -> dict[int, tuple[Decision, ...]]:
    """Return the decisions about each object in order, by segment id."""
    by_id: dict[int, tuple[Decision, ...]] = {}
    for decision in decisions:
        by_id[decision.data["id"]] = (*by_id.get(decision.data["id"], ()), decision)
    return by_id


def apply_override(built: Placement, override: Override, library: Library) -> Placement:
    """Return a placement of the twin with an override applied.

    An object that is to be registered again keeps its pose until then. A mass or friction that is known only when the
    twin is built has the source "".
    """
    machine_pose = built.machine_pose or MachinePose(built.world_from_object, built.scale)
    by_hand = override.pose is not None or override.scale is not None
    pose = built.world_from_object if by_hand and override.refit else override.pose or machine_pose.world_from_object
    scale = override.scale or machine_pose.scale
    placement = replace(
        _with_default_physics(built, scale, library),
        world_from_object=pose,
        scale=scale,
        machine_pose=machine_pose if by_hand else None,
    )
    return override_physics(placement, override)


def _with_default_physics(p: Placement, scale: float, library: Library) -> Placement:
    """Return the placement with its asset's mass and friction at that scale."""
    if p.asset_id is None or p.asset_id not in library or _may_be_estimated(p, library[p.asset_id]):
        unknown = {name: "" for name in ("mass_source", "friction_source") if _is_override_source(getattr(p, name))}
        return replace(p, **unknown)
    asset = library[p.asset_id]
    low, high = asset.mass_range
    return replace(
        p,
        mass=asset.mass * scale**3,
        mass_range=(low * scale**3, high * scale**3),
        mass_source=asset.mass_source,
        mass_range_source="",
        friction=asset.friction,
        friction_range=asset.friction_range,
        friction_source=asset.friction_source,
        friction_range_source="",
    )


def _may_be_estimated(p: Placement, asset: Asset) -> bool:
    """Whether a model's estimate may stand in the twin in place of the asset's own guess."""
    return asset.mass_source in GUESSED and _is_override_source(p.mass_source)


def _is_override_source(source: str) -> bool:
    return source == "person" or source.startswith("model ")
