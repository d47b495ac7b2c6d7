"""Where everything starts: sample scenes, earlier projects, and a place to drop a frame."""

import base64
from collections.abc import Sequence
from functools import partial

import gradio as gr

from components.shell import FramePicker, Gallery
from pipeline.errors import StudioError
from pipeline.frame import FrameError, load
from pipeline.project import Project
from studio.dropping import WANTED, Drops
from studio.notices import noticed, sentence
from studio.pictures import jpeg
from studio.samples import projects, sample_folder, samples
from studio.session import Session
from studio.sessions import Sessions
from studio.shell import QUIET, Shell


def build(shell: Shell) -> None:
    gr.HTML(
        '<h2 class="welcome">From one RGB-D frame to a solved task</h2>'
        '<p class="welcome">Start with a frame of your own, or open a sample scene.</p>',
        padding=False,
    )
    drops = Drops()
    drop = gr.File(label=f"A frame of your own: {WANTED}", file_count="multiple", elem_id="drop", height=118)
    picker = FramePicker(partial(picture, drops))
    gallery = Gallery()
    shell.shows(gallery, lambda session: shown(shell.sessions) if session is None else None)
    shell.opens_told(gallery.open, lambda told: opened(shell.sessions, told))
    shell.opens_told(picker.open, lambda told: picked(shell.sessions, drops, told))
    shell.greets(picker, lambda session: {})
    shell.greets(drop, lambda session: None)
    drop.upload(noticed(partial(looked, drops)), [drop], [picker], **QUIET).then(lambda: None, outputs=drop, **QUIET)


def shown(sessions: Sessions) -> dict:
    return {"samples": samples(), "projects": projects(sessions.workspace)}


def opened(sessions: Sessions, told: dict) -> Session:
    name = str(told.get("name", ""))
    if told.get("kind") == "project":
        return sessions.open(name)
    frame = load(sample_folder(name))
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


# ---------------------------------------------------------------------- files of one's own


def looked(drops: Drops, paths: Sequence[str] | None) -> dict:
    """FramePicker's value for the files a person dropped. Raises FrameError."""
    token = drops.add(paths or ())
    recording = drops.get(token).recording
    return {
        "token": token,
        "name": drops.get(token).name,
        "kind": recording.kind,
        "names": list(recording.names),
        "times": list(recording.times),
    }


def picture(drops: Drops, request: dict) -> dict:
    """A frame of a drop to look at: {token, index} gives {image, facts} or {error}. Outside Gradio's queue."""
    try:
        frame = drops.get(request.get("token")).recording.frame(_index(request))
    except StudioError as error:
        return {"seq": request.get("seq"), "error": sentence(error)}
    known = float((frame.depth > 0).mean())
    image = "data:image/jpeg;base64," + base64.b64encode(jpeg(frame.rgb, 560, 85)).decode()
    size = f"{frame.depth.shape[1]} × {frame.depth.shape[0]} pixels"
    return {"seq": request.get("seq"), "image": image, "facts": f"{size}, depth known in {known:.0%} of them"}


def picked(sessions: Sessions, drops: Drops, told: dict) -> Session:
    """A new project of one frame of a drop. Raises FrameError."""
    dropped, index = drops.get(told.get("token")), _index(told)
    frame, name = dropped.recording.frame(index), dropped.called(index)
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def _index(told: dict) -> int:
    index = told.get("index", 0)
    if not isinstance(index, int):
        raise FrameError("Frames are counted from 0; choose one again.")
    return index
