"""GRS Studio in one flat module: all that a script needs, from a photograph to a policy that is evaluated on its twin.

    import grs_studio

    for step in grs_studio.run(grs_studio.load("desk.npz"), "desk"):
        print(step.stage, step.message)
    grs_studio.export("desk", "mjcf", "desk_mjcf")

`examples/` has twelve scripts that import only this. Every function raises StudioError with one line that says what was
wrong and what would work. Lengths are metres, angles radians, times seconds; the world's z is up from the table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pipeline
from pipeline.errors import StudioError

if TYPE_CHECKING:
    import mujoco

    from pipeline.closed_loop.episodes import PolicyEpisode
    from pipeline.export.gym_env.environment import TwinEnv
    from pipeline.frame import Frame
    from pipeline.project import Project
    from pipeline.run import Progress
    from studio.project_widgets import ProjectWidgets

__all__ = [
    "StudioError", "compare", "environment", "evaluate_policy", "export", "load", "open_project", "run", "twin",
    "widgets",
]  # fmt: skip

if Path(pipeline.__file__).parents[1] != Path(__file__).resolve().parent:
    raise ImportError(
        f"{Path(pipeline.__file__).parent} is another package called pipeline, which hides that of GRS Studio; "
        "install GRS Studio in an environment of its own"
    )


def load(path: str | Path, index: int = 0) -> "Frame":
    """Return a frame of a photograph with depth, in any format of docs/frames.md.

    Args:
        path: a file or a folder.
        index: which frame of a recording.
    """
    from pipeline.frame import load as load_frame

    return load_frame(Path(path), index)


def run(
    frame: "Frame | None", out: str | Path, until: str = "solution", task: str | None = None, *,
    ground: str | None = None, views: "Sequence[tuple[str, Frame, Any]]" = (), seed: int = 0, **settings: Any,
) -> "Iterator[Progress]":  # fmt: skip
    """Yield each step from a frame to a solution. What is done is in the project folder; closing the iterator stops.

    Args:
        frame: None continues the project in `out`, as does a frame if there is one.
        out: the project's folder.
        until: last stage: frame, segments, descriptions, matches, scene, task, rounds or solution.
        task: in plain words; the first proposed one if None.
        ground: surface that carries the objects, as a step lists them, or several, such as "1,2".
        views: further views of the same table: name, frame, and main_from_camera (4, 4) or None to find it.
        seed: first of the seeds to solve.
        settings: model, segmenter, library (folders), matcher, robot, camera, unprotected: flags of `grs-studio run`.
    """
    import contextlib

    from pipeline.matching import why_unavailable
    from pipeline.project import Project
    from pipeline.project.project_views import choose_views
    from pipeline.run import Progress, run_stages
    from pipeline.run.object_confidence import measure_confidences
    from studio.services.open_services import announce_sending, open_services
    from studio.services.settings import Settings

    out = Path(out)
    services = announce_sending(open_services(Settings.from_environment(**settings), first_seed=seed))
    stage = "frame"
    with contextlib.closing(services.sandbox):
        if reason := why_unavailable(services.matcher, services.model, services.encoder):
            raise StudioError(f"the matcher {services.matcher} {reason}")
        continued = frame is None or (out / "project.json").exists()
        project = Project.open(out) if continued else Project.create(out, frame)  # type: ignore[arg-type]
        project.begin_writing()
        yield from (Progress("frame", note) for note in _begin(project, continued, ground) if note)
        yield from (Progress("frame", note) for note in choose_views(project, views))
        yield from (Progress("matches", f"{path} skipped: {reason}") for path, reason in services.library.skipped)
        try:
            for step in run_stages(project, services, until, task):  # type: ignore[arg-type]
                stage = step.stage
                yield step
        except StudioError as error:
            raise StudioError(f"stopped at {stage}: {error}") from error
        measure_confidences(project)  # for the board


def _begin(project: "Project", continued: bool, ground: str | None) -> Iterator[str]:
    """Choose the ground, and yield what is known about the frame."""
    from studio.scene.ground_choice import describe_grounds, ground_decision, grounds_of_numbers

    yield from project.warnings
    if continued:
        yield f"continuing the project in {project.folder}"
    yield from project.frame.notes
    if ground is not None:
        pixels = grounds_of_numbers(project.frame, ground)
        if [project.frame.ground_pixel, *project.frame.also_ground_pixels] != [tuple(pixel) for pixel in pixels]:
            project.decide("ground", **ground_decision(project.frame, pixels))
    if grounds := describe_grounds(project.frame):
        yield f"ground: {grounds}"
    yield from (f"ground: {note}" for note in project.support.notes if project.frame.also_ground_pixels)


def open_project(path: str | Path) -> "Project":
    """Return a project: its frame, decisions, and what was computed (`scene()`, `task()`, `rounds()`, `solution()`)."""
    from pipeline.project import Project

    return Project.open(Path(path))


def twin(project: str | Path) -> "mujoco.MjModel":
    """Return the twin of a project that has a scene, as a model of MuJoCo."""
    import mujoco

    path = Path(project) / "scene" / "scene.xml"
    if not path.is_file():
        raise StudioError(f"{project} has no twin yet; run it until scene first")
    return mujoco.MjModel.from_xml_path(str(path))


def export(project: str | Path, format: str, out: str | Path) -> tuple[str, ...]:
    """Write a project in a format of docs/exports.md, and return what was left out, a line each."""
    from pipeline.export import export_project

    return tuple(export_project(Path(project), format, Path(out)))


def environment(project: str | Path, out: str | Path, images: bool = False) -> "TwinEnv":
    """Export a solved project's task to the folder `out` if it is not there yet, and return it for Gymnasium."""
    from pipeline.export.gym_env.environment import TwinEnv

    if not (Path(out) / "layouts.json").is_file():
        export(project, "gymnasium", out)
    return TwinEnv(images=images, folder=Path(out))


def compare(
    real: str | Path, sim: str | Path, out: str | Path, robot: str | Path | None = None, align: str = "clock"
) -> dict[str, Any]:
    """Measure how far a simulated episode diverges from a real one; write and return comparison.json.

    Args:
        real: an episode: .csv, .npz, .bag, .mcap, a LeRobot or ROS 2 folder, a project or one of its rounds.
        sim: the same of the simulation.
        out: folder of comparison.json, comparison.npz and report.html.
        robot: MJCF, URDF or a table of Denavit-Hartenberg parameters, for joint ranges and end effectors.
        align: none, clock, motion or dtw, as in docs/real_robots.md.
    """
    from pipeline.divergence import compare as compare_episodes
    from pipeline.divergence import load_robot, read_episode, to_json, write_comparison

    model = load_robot(Path(robot)) if robot else None
    comparison = compare_episodes(read_episode(Path(real)), read_episode(Path(sim)), model, align)  # type: ignore[arg-type]
    write_comparison(comparison, Path(out))
    return to_json(comparison)


def evaluate_policy(
    project: str | Path, *policies: str, out: str | Path, count: int = 0, seed: int = 0, robot: str = "",
    seconds: float = 30.0, images: bool = False, jobs: int = 0, real: str | Path | None = None,
    uncertainty: bool = False, camera: str = "", library: Sequence[str | Path] = (), unprotected: bool = False,
    ray: str = "", on_episode: "Callable[[str, PolicyEpisode], None] | None" = None,
) -> dict[str, Any]:  # fmt: skip
    """Let policies control the twin's robot under the same conditions; write and return evaluation.json.

    Args:
        project: a solved project, or its export in format gymnasium, unpacked.
        policies: demonstration, hold, learned, FILE.py:FUNCTION, http://HOST:PORT/PATH, or openpi://HOST:PORT, groot://,
            lerobot://, vla-eval:// (docs/policies.md).
        out: folder of the results. A repeated call goes on where it was stopped.
        count: conditions to draw, as `grs-studio vary` does; 0 for the layouts of the solution.
        seed: of the drawn conditions.
        robot: name of the robot under drawn conditions; that of the solution if empty.
        seconds: simulated, of an episode at most.
        images: whether policies also see the picture of the photograph's camera.
        jobs: episodes at a time, of policies that allow several (docs/policies.md); 0 for one a core.
        real: folder of real episodes, each named after its layout.
        uncertainty: whether each drawn condition is tried as measured, and within what is uncertain of the twin.
        camera: name of the camera from which each episode is filmed, to films/; no films if empty.
        library: folders of assets for objects of the same category and distractors; the built-in one if empty.
        unprotected: whether programs may run where this machine cannot confine them.
        ray: address of a Ray cluster on whose machines the episodes run, HOST:PORT or auto; here if empty.
        on_episode: called with policy and episode as each ends.
    """
    from pipeline.assets.library import BUILTIN_LIBRARY, Library
    from pipeline.closed_loop.evaluation import Evaluation, EvaluationOptions
    from pipeline.simulation.sandbox.sandbox import Sandbox
    from studio.batch.ray_cluster import RayCluster

    options = EvaluationOptions(
        policies, count, seed, uncertainty, robot, seconds, images, jobs, None if real is None else Path(real), camera
    )
    with ExitStack() as stack:
        machines = stack.enter_context(closing(RayCluster(ray))) if ray else None
        assets = Library.open([Path(folder) for folder in library] or [BUILTIN_LIBRARY]) if count else None
        sandbox = stack.enter_context(Sandbox(unprotected))
        evaluation = Evaluation(Path(project), Path(out), options, assets, sandbox)
        for policy, episode in evaluation.run(machines):
            if on_episode:
                on_episode(policy, episode)
    return evaluation.finish()


def widgets(project: str | Path, **settings: Any) -> "ProjectWidgets":
    """Return the mask canvas and the viewer of a project, to be placed in a Gradio app of one's own.

    Args:
        project: its folder.
        settings: as of `run`.
    """
    from studio.project_widgets import ProjectWidgets

    return ProjectWidgets(project, **settings)
