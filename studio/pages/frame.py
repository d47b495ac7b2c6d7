"""Step 1: the photograph, its camera, and the table that was found in it."""

import gradio as gr

from components.steps import EvidenceCard, FrameView, PointCloud
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.records.evidence_record import evidence_record
from studio.scene.camera_correction import correct_camera
from studio.scene.frame_record import frame_record, point_cloud_address
from studio.scene.ground_choice import choose_ground


def build(shell: Shell) -> None:
    view = FrameView()
    evidence = EvidenceCard(elem_id="frame-evidence")
    gr.HTML('<h3 class="section">Point cloud in world axes, table at z = 0</h3>', padding=False)
    cloud = PointCloud()
    shell.on_message(view.camera, correct_camera)
    shell.on_message(view.ground, choose_ground)
    shell.show(view, frame_record, [facts.results, facts.background])
    shell.show(evidence, evidence_record, [facts.results])
    shell.show(cloud, point_cloud_address, [facts.results])
