"""The scene stage: place every object, settle the scene, and write the twin."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from pipeline.assets import AssetError, Library
from pipeline.assets.image_to_3d import ServiceCancelled, ServiceError
from pipeline.assets.reconstruct.generated_asset import find_generated, generate_asset
from pipeline.geometry import Pose
from pipeline.models import StageCancelled
from pipeline.models.destination import SendPolicy, is_loopback
from pipeline.models.in_flight import InFlightCalls
from pipeline.one_blas_thread import one_blas_thread
from pipeline.project import Project
from pipeline.router import read_record, write_record
from pipeline.run.progress import Progress
from pipeline.run.services import Services, may_send_to
from pipeline.run.surroundings import SurroundingsAhead
from pipeline.run.twin_condition import twin_condition
from pipeline.scene import object_names, overrides, scene_files
from pipeline.scene.appearance.light import estimate_light
from pipeline.scene.appearance.photo_print import with_prints
from pipeline.scene.evidence import measure_evidence, summarise
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.background import write_background
from pipeline.scene.mjcf.recorded_models import with_own_files
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.placement import Scene, SceneError
from pipeline.scene.settle_retry import settle_with_retries
from pipeline.store import write_text
from pipeline.task_generation.bring import brought_object
from pipeline.variation.varied_scene import set_visuals, varied_scene


def scene_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Build the twin: place the objects, settle them, and write scene.json and the model."""
    by_segment = overrides.overrides_from_decisions(project.active_decisions(*overrides.DECISION_KINDS))
    yield from _generate_assets(project, services, _to_generate(project, services, by_segment))
    yield Progress("scene", "placing the objects", 0, 3)
    descriptions, matches = project.descriptions() or (), project.matches() or ()
    inputs = SceneInputs(
        project.observation,
        project.segments() or (),
        descriptions,
        matches,
        services.library,
        project.folder / "scene",
        by_segment,
        project.folder / "cache",
        project.has_walls,
    )

    former = _former_scene(project)
    names = {p.segment_id: p.name for p in former.placements} if former else {}

    def rename(scene: Scene) -> Scene:
        decisions = project.active_decisions(*object_names.DECISION_KINDS)
        return object_names.name_objects(scene, descriptions, matches, services.library, decisions, names)

    ahead = partial(services.ahead.take, project) if services.ahead else lambda *_: None
    with SurroundingsAhead(inputs, project.frame_key, project.folder / "cache") as surroundings:
        surroundings.begin_as_before(former)
        with one_blas_thread():
            scene = with_brought(rename(place_objects(inputs, ahead)), project, services.library)
        surroundings.begin(scene)
        yield Progress("scene", "settling the objects", 1, 3)
        with one_blas_thread():
            scene, reports, before = settle_with_retries(scene, inputs, rename)
        yield Progress("scene", "writing the model", 2, 3)
        drawn = surroundings.begin(scene)
        with one_blas_thread():
            model = builder.compile_spec(builder.build_spec(scene))
            light = estimate_light(project.frame, inputs.segments, scene, model)
            evidence = measure_evidence(inputs, scene, model)
            scene = with_prints(replace(scene, light=light), before, inputs)
        scene = replace(scene, table_png=drawn.result().table)
    _complete_recordings(project)
    condition = twin_condition(project, scene, services.library)
    varied = scene if condition is None else varied_scene(scene, condition, services.library)
    scene_files.write_scene(varied, project.folder)
    if condition is not None:
        set_visuals(project.folder / "scene" / "scene.xml", condition)
    write_background(drawn.result().background, project.folder / "scene")
    project.save_evidence(evidence)
    yield Progress("scene", summarise(evidence))
    for doubt in project.doubts():
        yield Progress("scene", f"doubtful: {doubt}")
    yield Progress("scene", f"{len(varied.placements)} objects placed", 3, 3, reports)


def _complete_recordings(project: Project) -> None:
    """Let the rollouts that an earlier version recorded own their files, before these are replaced."""
    scene = project.folder / "scene"
    for one in project.rounds():
        folder = project.folder / "rounds" / f"{one.number:03d}"
        if not one.twin and (records := read_record(folder)):
            write_record(folder, records)
    for path in (scene / "solution.xml", scene / "failure.xml", project.folder / "learning" / "world.xml"):
        if path.is_file():
            former = path.read_text("utf-8")
            if (model := with_own_files(former, scene)) != former:
                write_text(path, model)


def with_brought(scene: Scene, project: Project, library: Library) -> Scene:
    """Return the scene with the objects that a person brought from the library, as corrected since.

    An asset that the library has no more is left out.
    """
    placements = list(scene.placements)
    corrected = overrides.overrides_from_decisions(project.active_decisions(*overrides.DECISION_KINDS))
    for decision in project.active_decisions("bring"):
        data = decision.data
        if data["asset_id"] not in library or data["name"] in {p.name for p in placements}:
            continue
        pose = Pose(np.array(data["pos"], float), np.array(data["quat_wxyz"], float))
        brought = brought_object(library[data["asset_id"]], data["name"], pose, placements)
        override = corrected.get(brought.segment_id, overrides.Override())
        scale = override.scale or 1.0
        brought = replace(brought, world_from_object=override.pose or pose, scale=scale, size=brought.size * scale)
        placements.append(overrides.override_physics(brought, override))
    return replace(scene, placements=tuple(placements))


def _former_scene(project: Project) -> Scene | None:
    """Return the twin that is about to be replaced; None without one, or if it is damaged."""
    try:
        return project.scene()
    except SceneError:
        return None


def _to_generate(project: Project, services: Services, by_segment: Mapping[int, overrides.Override]) -> list[int]:
    """Return the segments that the image-to-3D service makes: those chosen, and those that no asset fits.

    The latter only if the project may be sent there.
    """
    chosen = [id for id, override in by_segment.items() if override.method == "provider"]
    service = services.image_to_3d
    if service is None or not _may_be_sent(project, service.address, services.send):
        return chosen
    decided = {id for id, override in by_segment.items() if override.method is not None}
    unmatched = [m.segment_id for m in project.matches() or () if m.asset_id is None and m.segment_id not in decided]
    return [*chosen, *unmatched]


def _may_be_sent(project: Project, address: str, policy: SendPolicy) -> bool:
    return not address or bool(may_send_to(project, address, is_loopback(address), policy))


def _generate_assets(project: Project, services: Services, segment_ids: list[int]) -> Iterator[Progress]:
    """Let the image-to-3D service generate the assets of these segments that it has not generated yet.

    Raises ServiceError for one that a person chose; StageCancelled.
    """
    described = {d.segment_id: d for d in project.descriptions() or () if d.is_object}
    segments = {s.id: s for s in project.segments() or ()}
    calls, folder = services.live or InFlightCalls(), project.folder / "scene"
    by_segment = overrides.overrides_from_decisions(project.active_decisions(*overrides.DECISION_KINDS))
    for number, id in enumerate(id for id in segment_ids if id in described and id in segments):
        service, kept = services.image_to_3d, find_generated(project.frame, segments[id], folder)
        if kept is not None and (service is None or service.name in kept.provenance):
            continue
        if service is None:
            raise ServiceError(
                f"{described[id].name} is to be made by an image-to-3D service, and none is configured; set "
                "GRS_IMAGE_TO_3D=NAME:http://host:port, or choose another method"
            )
        yield Progress("scene", f"{service.name} makes {described[id].name}", number, len(segment_ids))
        try:
            generate_asset(service, project.frame, segments[id], described[id], folder, lambda: calls.is_stopped)
        except ServiceCancelled as stop:
            raise StageCancelled(str(stop)) from None
        except (ServiceError, AssetError) as error:
            if by_segment.get(id, overrides.Override()).method == "provider":
                raise
            yield Progress("scene", f"{described[id].name} is made from the view: {error}")
