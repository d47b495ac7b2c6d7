"""Where everything starts: sample scenes, earlier projects, and a place to drop a frame."""

import re
from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from components.shell import Gallery
from pipeline.frame import Frame, FrameError, load, load_files
from pipeline.project import Project, safe_name
from studio.samples import projects, sample_folder, samples
from studio.session import Session, SessionError, Sessions
from studio.shell import Shell

WANTED = "a zip of a frame folder, its rgb, depth and camera.json together, or a .npz, .r3d, .bag, .ply or .glb"
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")


def build(shell: Shell) -> None:
    gr.HTML(
        '<h2 class="welcome">From one RGB-D frame to a solved task</h2>'
        '<p class="welcome">Start with a frame of your own, or open a sample scene.</p>',
        padding=False,
    )
    drop = gr.File(label=f"Drop a frame here: {WANTED}", file_count="multiple", elem_id="drop", height=118)
    gallery = Gallery()
    shell.shows(gallery, lambda session: shown(shell.sessions) if session is None else None)
    shell.opens_told(gallery.open, lambda told: opened(shell.sessions, told))
    shell.opens(drop.upload, lambda paths: dropped(shell.sessions, paths), [drop], clears=drop)
    shell.greets(drop, lambda session: None)


def shown(sessions: Sessions) -> dict:
    return {"samples": samples(), "projects": projects(sessions.workspace)}


def opened(sessions: Sessions, told: dict) -> Session:
    name = str(told.get("name", ""))
    if told.get("kind") == "project":
        return sessions.open(name)
    frame = load(sample_folder(name))
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def dropped(sessions: Sessions, paths: Sequence[str] | None) -> Session:
    """A new project of the files a person dropped. Raises FrameError."""
    files = [Path(path) for path in paths or ()]
    if not files:
        raise SessionError(f"Nothing was dropped; drop {WANTED}.")
    frame = read(files)
    name = safe_name(files[0].stem if len(files) == 1 else "frame")
    return sessions.create(lambda folder: Project.create(folder, frame, name), name)


def read(files: Sequence[Path]) -> Frame:
    """The frame in one file, or in files told apart by their names. Raises FrameError."""
    if len(files) == 1 and files[0].suffix.lower() not in (*PICTURES, ".json", ".txt"):
        return load(files[0])
    pictures = [file for file in files if file.suffix.lower() in PICTURES]
    depth = next((file for file in pictures if re.search("depth", file.stem, re.IGNORECASE)), None)
    colour = next((file for file in pictures if file != depth), None)
    camera = next((file for file in files if file.suffix.lower() == ".json"), None)
    if depth is None or colour is None:
        names = ", ".join(file.name for file in files[:6])
        raise FrameError(f"These files make no frame: {names}. Drop {WANTED}; the depth picture's name must say depth.")
    return load_files(colour, depth, camera)
