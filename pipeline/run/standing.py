"""The stage that makes the twin: every object placed and settled."""

from collections.abc import Iterator

from pipeline.assets.provider import ProviderError, ProviderStopped
from pipeline.assets.reconstruct.provided import provide, provided
from pipeline.models import Stopped
from pipeline.models.live import Live
from pipeline.project import Project
from pipeline.run.progress import Progress
from pipeline.run.services import Services
from pipeline.scene import files, given, naming
from pipeline.scene.placement import Scene
from pipeline.scene.placing import place
from pipeline.scene.resting import rest
from pipeline.segmentation import Segment


def scene_stage(project: Project, services: Services) -> Iterator[Progress]:
    """The twin: placed, let go until it rests, written."""
    segments: tuple[Segment, ...] = project.segments() or ()
    wanted = given.given_by(project.decided(*given.KINDS))
    yield from _provided(project, services, [id for id, one in wanted.items() if one.way == "provider"])
    yield Progress("scene", "placing the objects", 0, 3)
    descriptions, matches = project.descriptions() or (), project.matches() or ()
    what = (
        project.frame,
        project.support,
        segments,
        descriptions,
        matches,
        services.library,
        project.folder / "scene",
        wanted,
        project.folder / "cache",
    )

    def named(scene: Scene) -> Scene:
        return naming.named(scene, descriptions, matches, services.library, project.decided(*naming.KINDS))

    scene = named(place(*what))
    yield Progress("scene", "letting them settle", 1, 3)
    scene, settled = rest(scene, *what, named)
    yield Progress("scene", "writing the model", 2, 3)
    files.write_scene(scene, project.folder)
    yield Progress("scene", f"{len(scene.placements)} objects stand", 3, 3, settled)


def _provided(project: Project, services: Services, wanted: list[int]) -> Iterator[Progress]:
    """What an image-to-3D service is to make of these objects, asked for where it has not been yet."""
    described = {d.segment_id: d for d in project.descriptions() or () if d.is_object}
    segments = {s.id: s for s in project.segments() or ()}
    live = services.live or Live()
    for number, id in enumerate(id for id in wanted if id in described and id in segments):
        if provided(project.frame, segments[id], project.folder / "scene") is not None:
            continue
        if services.image_to_3d is None:
            raise ProviderError(
                f"{described[id].name} is to be made by an image-to-3D service and none is set up; set "
                "GRS_IMAGE_TO_3D=http://host:port, or choose another way"
            )
        yield Progress("scene", f"{services.image_to_3d.name} makes {described[id].name}", number, len(wanted))
        try:
            provide(
                services.image_to_3d, project.frame, segments[id], described[id], project.folder / "scene",
                lambda: live.stopped,
            )  # fmt: skip
        except ProviderStopped as stop:
            raise Stopped(str(stop)) from None
