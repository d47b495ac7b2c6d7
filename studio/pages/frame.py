"""Step 1: is this the photograph I meant, and was its table found?"""

from functools import partial
from typing import Any

import gradio as gr

from components.steps import FrameView
from studio import pictures
from studio.session import Session
from studio.shell import Shell
from studio.theme import colour_of


def build(shell: Shell) -> None:
    view = FrameView()
    gr.HTML('<h4 class="section">The same as points in the world, table at z = 0</h4>', padding=False)
    cloud = gr.Plot(show_label=False, container=False, elem_id="cloud")
    shell.shows(
        view, lambda session: session.later("frame", "frame/camera.json", partial(shown, session)) if session else None
    )
    shell.shows(
        cloud,
        lambda session: session.later("cloud", "segments/masks.png", partial(points, session)) if session else None,
    )


def shown(session: Session) -> dict:
    """FrameView's value."""
    frame, project = session.project.frame, session.project
    support = session.support
    k = frame.intrinsics
    size = f"{k.width} × {k.height} pixels, focal length {k.fx:.0f} × {k.fy:.0f}"
    known = float((frame.depth > 0).mean())
    facts = [["from", frame.source or "a frame"], ["camera", size], ["depth known", f"{known:.0%} of the pixels"]]
    facts.append(["table", "found" if support else "not found"])
    facts.append(
        ["camera pose", "given with the frame" if frame.world_from_camera is not None else "told by the table"]
    )
    return {
        "image": f"/project/{session.token}/colour.jpg",
        "depth": f"/project/{session.token}/depth.bin",
        "width": k.width,
        "height": k.height,
        "intrinsics": {"fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy},
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
