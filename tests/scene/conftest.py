"""Fixtures of several files of this folder."""

import drawn_scene as make
import pytest

from pipeline.assets import Library


@pytest.fixture(scope="session")
def library() -> Library:
    return Library.open()


@pytest.fixture(scope="module")
def photographed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographed")
    scene = make.scene(
        make.placement(make.box(folder), "box", (0.1, 0.0), yaw=0.5, asset_id="asset_0"),
        make.placement(make.ball(folder), "ball", (-0.1, 0.1), number=2, asset_id="ball"),
    )
    frame, _, segments = make.photograph(scene)
    return scene, frame, segments
