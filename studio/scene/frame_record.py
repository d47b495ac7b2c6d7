"""The frame as the frame page shows it: picture, depth, camera, table and facts."""

from functools import partial
from typing import Any

from fastapi import Response

from pipeline.frame import Frame
from studio.records import images
from studio.records.file_routes import CACHED
from studio.scene.camera_correction import camera_record
from studio.scene.ground_choice import ground_records
from studio.sessions.session import Session
from studio.texts import t, translated
from studio.web.theme import object_colour


def frame_record(session: Session | None) -> dict[str, Any] | None:
    """Return FrameView's value, computed in the background once for each camera; None until it is there."""
    if session is None:
        return None
    frame = session.project.frame
    name = f"frame {session.project.frame_key}"
    return session.cache.get_later(name, "frame/camera.json", partial(_frame_record, session, frame))


def point_cloud_address(session: Session | None) -> str:
    """Return PointCloud's value; it changes with the camera and the masks."""
    if session is None:
        return ""
    stamp = session.cache.stamp("segments/masks.png")
    return f"project/{session.token}/cloud.bin?{stamp}-{session.project.frame_key[:12]}"


def _point_cloud(session: Session, _: str) -> Response:
    """Return the frame's points with tinted objects, as PointCloud reads them."""
    segments = [(segment, object_colour(segment.id)) for segment in session.project.segments() or ()]
    points, colours = images.point_cloud(session.project.frame, session.support, segments)
    data = points.astype("<f4").tobytes() + colours.tobytes()
    return Response(data, media_type="application/octet-stream", headers=CACHED)


FILES = {"cloud.bin": _point_cloud}
"""Files of a project for this page, by the first part of their address."""


def translated_note(note: str, frame: Frame) -> str:
    """Return a note about a frame in the current language; of a doubt, reason and cure are translated on their own."""
    doubt = next((one for one in frame.doubts if one.note == note), None)
    return f"{translated(doubt.why)} {translated(doubt.cure)}" if doubt else translated(note)


def depth_coverage(frame: Frame) -> str:
    """Return the share of pixels whose depth is known, as a percentage."""
    return f"{float((frame.depth > 0).mean()):.0%}"


def _frame_record(session: Session, frame: Frame) -> dict[str, Any]:
    project, support, k = session.project, session.support, frame.intrinsics
    camera = camera_record(frame, project.original_frame, support)
    table = (
        t("{length} × {width} m visible", length=f"{camera['table'][0]:.2f}", width=f"{camera['table'][1]:.2f}")
        if camera["table"]
        else t("not found")
    )
    if support and support.shelves:
        heights = ", ".join(f"{shelf.height:.2f}" for shelf in support.shelves)
        table += "; " + t("also {heights} m above it", heights=heights)
    error = project.error("frame")
    return {
        "image": f"project/{session.token}/colour.jpg",
        "depth": f"project/{session.token}/depth.bin?{project.frame_key[:12]}",
        "width": k.width,
        "height": k.height,
        "intrinsics": {"fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy},
        "camera": camera,
        "plane": images.plane_in_camera(support) if support else None,
        "table": images.table_outline(frame, support) if support else [],
        "shelves": [images.table_outline(frame, shelf) for shelf in (support.shelves if support else ())],
        "grounds": ground_records(frame) if support else [],
        "facts": [
            ["from", frame.source or "a frame"],
            [
                t("camera"),
                t(
                    "{width} × {height} pixels, focal length {fx} × {fy}",
                    width=k.width,
                    height=k.height,
                    fx=f"{k.fx:.0f}",
                    fy=f"{k.fy:.0f}",
                ),
            ],
            [t("depth known"), t("{share} of the pixels", share=depth_coverage(frame))],
            [t("table"), table],
            [
                t("camera pose"),
                t("from the table")
                if frame.world_from_camera is None
                else t("given with the frame")
                if frame.world_from_camera is project.original_frame.world_from_camera
                else t("aligned by clicks"),
            ],
        ],
        "notes": [
            translated_note(note, frame) for note in (*frame.notes, *getattr(support, "notes", ()), error) if note
        ],
    }
