"""Step 1: is this the photograph I meant, and was its table found?"""

from functools import partial
from typing import Any

import gradio as gr

from components.steps import FrameView
from pipeline.frame import Frame
from studio import pictures
from studio.camera import camera, given
from studio.session import Session
from studio.shell import Shell
from studio.theme import colour_of


def build(shell: Shell) -> None:
    view = FrameView()
    gr.HTML('<h4 class="section">The same as points in the world, table at z = 0</h4>', padding=False)
    cloud = gr.Plot(show_label=False, container=False, elem_id="cloud")
    shell.told(view.camera, correct)
    shell.shows(view, lambda session: seen(session) if session else None)
    shell.shows(
        cloud,
        lambda session: session.later("cloud", "segments/masks.png", partial(points, session)) if session else None,
    )


def correct(session: Session, told: dict) -> None:
    """The camera's numbers as a person gave them; all that was measured is measured anew."""
    session.decide("camera", **given(told, session.project.frame))
    if session.project.segments() is None:
        session.bring_up_to_date()


def seen(session: Session) -> dict | None:
    """FrameView's value, made once for each camera."""
    frame = session.project.frame
    return session.later(f"frame {hash(frame.intrinsics)}", "frame/camera.json", partial(shown, session, frame))


def shown(session: Session, frame: Frame) -> dict:
    """FrameView's value."""
    project = session.project
    support = session.support
    k = frame.intrinsics
    size = f"{k.width} × {k.height} pixels, focal length {k.fx:.0f} × {k.fy:.0f}"
    known = float((frame.depth > 0).mean())
    facts = [["from", frame.source or "a frame"], ["camera", size], ["depth known", f"{known:.0%} of the pixels"]]
    told = camera(frame, project.frame_as_it_came, support)
    table = f"{told['table'][0]:.2f} × {told['table'][1]:.2f} m are seen of it" if told["table"] else "not found"
    facts.append(["table", table])
    facts.append(
        ["camera pose", "given with the frame" if frame.world_from_camera is not None else "told by the table"]
    )
    return {
        "image": f"/project/{session.token}/colour.jpg",
        "depth": f"/project/{session.token}/depth.bin",
        "width": k.width,
        "height": k.height,
        "intrinsics": {"fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy},
        "camera": told,
        "plane": pictures.plane_in_camera(support) if support else None,
        "table": pictures.table_outline(frame, support) if support else [],
        "facts": facts,
        "notes": [
            *frame.notes,
            *getattr(support, "notes", ()),
            *([project.error("frame")] if project.error("frame") else []),
        ],
    }


def points(session: Session) -> Any:
    """The point cloud's figure, objects tinted."""
    segments = [(one, colour_of(one.id)) for one in session.project.segments() or ()]
    return pictures.cloud(session.project.frame, session.support, segments)
