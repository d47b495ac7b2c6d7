"""Settle the scene, and place the objects that moved in another way where that agrees better with the photograph.

An object that moved by more than a centimetre until it rested was placed wrongly, or its neighbours were. Its pose is
searched again among the others as they rest; if it had an asset, it is also reconstructed from the view. An alternative
is kept only if all objects of the settled scene together then fit the measured points better. Other motion is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pipeline.scene import registration
from pipeline.scene.hidden_sides import fit_together
from pipeline.scene.mjcf.mesh_export import modified_ns
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.overrides import override_physics
from pipeline.scene.place_objects import SceneInputs, is_chosen_surely, place_object
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.settle import REPORTED_SHIFT_M, SettleReport, settle
from pipeline.scene.support_relations import add_props

MIN_GAIN_M = 0.001
"""Amount by which the sum of all misfits must fall for an alternative to be kept."""


def settle_with_retries(
    scene: Scene, inputs: SceneInputs, rename: Callable[[Scene], Scene] = lambda scene: scene
) -> tuple[Scene, tuple[SettleReport, ...], Scene]:
    """Return the settled scene, the reports of what settling changed, and the scene that was settled.

    `scene` is what `place_objects` made of the same inputs. `rename` names the objects of an alternative, in which
    another asset may stand for one. Raises SceneError.
    """
    settled, reports = settle(scene)
    if not (moved := _moved_objects(settled, reports, inputs)):
        return settled, reports, scene
    observed = {o.segment.id: o for o in inputs.observed_objects()}
    known: dict[object, float] = {}
    misfit, points = _total_misfit(settled, observed, known), {id: one.points for id, one in observed.items()}
    for id in moved:
        below = tuple(p for p in settled.placements if p.segment_id != id)
        before = scene
        for alternative in _alternatives(inputs, observed[id], below):
            candidate = rename(fit_together(_with_placement(before, alternative), points))
            candidate_settled, candidate_reports = settle(candidate)
            if (cost := _total_misfit(candidate_settled, observed, known)) < misfit - MIN_GAIN_M:
                scene, settled, reports, misfit = candidate, candidate_settled, candidate_reports, cost
    return settled, reports, scene


def _moved_objects(settled: Scene, reports: Iterable[SettleReport], inputs: SceneInputs) -> list[int]:
    """Return the segments of objects that would not rest, then of those that moved, farthest first.

    An object that a person placed or brought is left out.
    """
    ids, photographed = {p.name: p.segment_id for p in settled.placements}, {one.id for one in inputs.segments}
    free = [
        report
        for report in reports
        if (report.held or report.moved > REPORTED_SHIFT_M)
        and not inputs.override(ids[report.name]).fixed_pose
        and ids[report.name] in photographed
    ]
    # Number of objects that are placed again at most: those that moved farthest
    return [ids[report.name] for report in sorted(free, key=lambda r: (not r.held, -r.moved))[:3]]


def _alternatives(inputs: SceneInputs, observed: ObservedObject, below: tuple[Placement, ...]) -> Iterator[Placement]:
    """Yield the object placed again among the others, then reconstructed unless its asset was chosen surely."""
    override = inputs.override(observed.segment.id)
    again = place_object(inputs, observed, below, override)
    yield override_physics(again, override)
    if again.asset_id is not None and observed.match is not None and not is_chosen_surely(observed.match):
        reconstructed = place_object(inputs, observed, below, replace(override, method="best"))
        why = f"{again.asset_id.replace('_', ' ')} would not rest where the photograph shows it"
        yield override_physics(replace(reconstructed, overruled=why), override)


def _with_placement(scene: Scene, placement: Placement) -> Scene:
    """Return the scene with the placement of one object replaced; it keeps its name."""
    placements = tuple(
        replace(placement, name=p.name, aliases=p.aliases) if p.segment_id == placement.segment_id else p
        for p in scene.placements
    )
    return replace(scene, placements=add_props(placements, scene.shelves))


def _total_misfit(scene: Scene, observed: Mapping[int, ObservedObject], known: dict[object, float]) -> float:
    """Return the sum in metres of the registration costs of all photographed objects; `known` keeps each."""
    total = 0.0
    for p in scene.placements:
        if p.segment_id not in observed:
            continue  # a person brought it
        key = p.segment_id, p.mesh, modified_ns(p.mesh), p.size.tobytes(), p.world_from_object.matrix.tobytes()
        if key not in known:
            surface = registration.load_surface(p.mesh, p.size)
            target = observed[p.segment_id].target
            known[key] = registration.registration_cost(surface, target, p.world_from_object)
        total += known[key]
    return total
