"""Step 4: the twin over the photograph it was made from, with each object's pose and weight to correct."""

from components.adjuster import Adjuster
from components.camera_aligner import CameraAligner
from components.placed_cameras import PlacedCameras
from components.robot_aligner import RobotAligner
from components.splat_panel import SplatPanel
from components.steps import EvidenceCard, FitTable
from components.track_panel import TrackPanel
from components.viewer import Viewer, viewer_value
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.records.evidence_record import evidence_record
from studio.scene import adjustments, camera_alignment, placed_cameras, robot_alignment, splat_choice
from studio.scene.fit_table import fit_table, keep_walls, viewer_labels
from studio.scene.tracks import Tracks
from studio.scene.viewer_content import ViewerContent
from studio.sessions.object_decisions import apply_decision
from studio.sessions.physical_properties import ask_physical_properties
from studio.sessions.session import Session


def build(shell: Shell, content: ViewerContent) -> None:
    viewer = Viewer(height="calc(100vh - 318px)", elem_id="twin")
    adjuster = Adjuster(adjustments.endpoint(shell.sessions), viewer="twin")
    cameras = PlacedCameras(viewer="twin")
    splats = SplatPanel()
    panel, tracks = TrackPanel(viewer="twin"), Tracks(shell.sessions)
    evidence = EvidenceCard(elem_id="scene-evidence")
    table = FitTable()
    aligner = CameraAligner(answer=camera_alignment.endpoint(shell.sessions))
    robot_aligner = RobotAligner(answer=robot_alignment.endpoint(shell.sessions))

    def twin(session: Session | None) -> dict:
        if session is None:
            return viewer_value(None)
        return viewer_value(content.track(session) or content.twin(session), **viewer_labels(session))

    shell.show(viewer, twin, [*facts.OBJECTS, facts.playback, content.views])
    shell.show(adjuster, adjustments.adjuster_record, [*facts.OBJECTS, facts.work, facts.calls])
    shell.on_message(adjuster.decide, apply_decision)
    shell.on_message(adjuster.weigh, ask_physical_properties)
    shell.show(cameras, placed_cameras.cameras_record, [facts.results])
    shell.on_message(cameras.place, placed_cameras.place)
    shell.on_message(cameras.remove, placed_cameras.remove)
    shell.show(splats, splat_choice.splats_record, [facts.results])
    shell.on_message(splats.choose, splat_choice.choose)
    shell.on_message(splats.choose_made, splat_choice.choose_made)
    shell.on_message(splats.remove, splat_choice.remove)
    shell.show(panel, tracks.record, [facts.results, facts.playback, tracks.progress])
    shell.on_message(panel.follow, tracks.follow)
    shell.on_message(panel.stop, tracks.stop)
    shell.on_message(panel.show, tracks.show)
    shell.open_on_message(panel.instant, tracks.take_instant)
    shell.show(evidence, evidence_record, [facts.results])
    shell.show(table, fit_table, facts.OBJECTS)
    shell.on_message(table.keep_walls, keep_walls)
    shell.show(aligner, camera_alignment.aligner_record, [facts.results])
    shell.on_message(aligner.take, camera_alignment.take_alignment)
    shell.show(robot_aligner, camera_alignment.aligner_record, [facts.results])
    shell.on_message(robot_aligner.take, robot_alignment.take_alignment)
