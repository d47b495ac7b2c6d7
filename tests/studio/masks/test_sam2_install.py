"""Installing SAM 2 from the app: progress, stop, and what went wrong, with a stand-in for pip."""

import threading

import pytest

from studio.masks import sam2_install
from studio.masks.sam2_install import Installation, InstallError, requirements


def finished(installation: Installation) -> Installation:
    """The same installation once its thread has ended."""
    assert installation._task is not None
    installation._task.join(20)
    assert not installation.running
    return installation


def test_the_sam2_extra_is_what_is_installed():
    names = {requirement.split("=")[0].split("<")[0].split(">")[0] for requirement in requirements()}
    assert {"torch", "torchvision", "sam2"} <= names and "gradio" not in names


def test_progress_is_shown_and_a_second_start_does_nothing():
    reached, go = threading.Event(), threading.Event()
    starts = []

    def pip(stop: threading.Event):
        starts.append(1)
        yield "Downloading torch"
        reached.set()
        assert go.wait(20)

    installation = Installation(pip)
    installation.start()
    assert reached.wait(20) and installation.running and installation.message == "Downloading torch"
    installation.start()
    go.set()
    assert finished(installation).message == "" and starts == [1]


def test_a_stop_ends_the_installation_and_keeps_the_downloads():
    def pip(stop: threading.Event):
        yield "Downloading torch"
        assert stop.wait(20)

    installation = Installation(pip)
    installation.start()
    installation.stop()
    assert finished(installation).message.startswith("Stopped.")


def test_a_failure_of_pip_is_one_line(monkeypatch):
    monkeypatch.setattr(sam2_install, "requirements", lambda: ("no-such-package-name==1", "sam2==0"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InstallError, match="pip could not install SAM 2: ERROR"):
        list(sam2_install.install(threading.Event()))
