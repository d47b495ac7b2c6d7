"""Policies served and asked by the real packages of openpi, LeRobot and vla-eval (`make soak`)."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from twins import SOAK

from pipeline.closed_loop.episodes import opened
from pipeline.closed_loop.interfaces import Translation, read_interface
from pipeline.closed_loop.interfaces.interface import Entry, Interface
from pipeline.closed_loop.interfaces.translation import picture_for
from pipeline.closed_loop.serving import recorded_motion
from studio.__main__ import main
from tests.export.test_policy_protocols import INTERFACES, LAYOUT, PHOTO, VELOCITY, interface, served, toml

pytestmark = pytest.mark.soak
REAL = {"openpi": "openpi", "vla-eval": "vla_eval", "lerobot": "lerobot"}
"""The environment of each protocol in build/soak."""


def real(protocol: str, script: str, *arguments: object) -> list[str]:
    python = SOAK / REAL[protocol] / "bin" / "python"
    return [str(python), "-I", str(Path(__file__).with_name(script)), protocol, *map(str, arguments)]


@contextmanager
def real_server(protocol: str, folder: Path, recorded: dict[str, np.ndarray], chosen: Interface) -> Iterator[int]:
    """Yield the port of a real package's server that plays recorded actions."""
    np.savez(folder / "actions.npz", **recorded)
    command = real(protocol, "real_policy_server.py", folder / "actions.npz", chosen.replan_after)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout
        try:
            yield int(next(line for line in server.stdout if line.strip().isdecimal()))
        finally:
            server.terminate()


@pytest.mark.parametrize("protocol", REAL)
def test_a_demonstration_served_by_the_real_package_solves_all_that_it_solves_here(environment, tmp_path, protocol):
    chosen = interface(VELOCITY, PHOTO) if protocol == "openpi" else read_interface(INTERFACES[protocol])
    file, recorded = INTERFACES[protocol], {}
    if protocol == "openpi":
        file = toml(tmp_path / "mine.toml", chosen)
    with opened(environment, False) as env:
        layouts = env.layouts
        for layout in layouts:
            env.reset(options={"layout": layout})
            there, motion = Translation(chosen, env), recorded_motion(env, layout)
            times = np.arange(0, motion.times[-1] * chosen.rate_hz + 1) / chosen.rate_hz
            states = there.robot.units.action(motion.at(times, env.world.suction))
            recorded[str(layout)] = there.rows(there.encoded(states[1:], states[0])[0])
    with real_server(protocol, tmp_path, recorded, chosen) as port:
        spec, out = f"{protocol}://127.0.0.1:{port}?interface={file}", tmp_path / "out"
        assert main(["evaluate-policy", str(environment), "--policy", spec, "--out", str(out)]) == 0
    (found,) = json.loads((out / "evaluation.json").read_text())["policies"]
    assert [row["success"] for row in found["episodes"]] == [True] * len(layouts)


@pytest.mark.parametrize("protocol", REAL)
def test_the_real_client_of_each_protocol_gets_what_is_served(environment, tmp_path, protocol):
    chosen = read_interface(INTERFACES[protocol])
    with opened(environment, False) as env:
        env.reset(options={"layout": LAYOUT})
        there = Translation(chosen, env)
        motion = recorded_motion(env, LAYOUT)
        begin = 0 if protocol == "lerobot" else 8
        times = np.arange(begin, begin + 17) / chosen.rate_hz
        states = there.robot.units.action(motion.at(times, env.world.suction))
        wanted = there.rows(there.encoded(states[1:], states[0])[0])
    picture = np.random.default_rng(3).integers(0, 256, (240, 321, 3), np.uint8)
    message = {"picture": picture, "state": there.robot.now(), "text": "Stack."}
    np.savez(tmp_path / "message.npz", **message)
    with served(environment, protocol, chosen) as port:
        command = real(protocol, "real_policy_client.py", port, tmp_path / "message.npz")
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.abs(np.array(json.loads(done.stdout.splitlines()[-1])) - wanted).max() < 1e-5
    if protocol == "openpi":
        ours = picture_for(Entry(**PHOTO | {"size": (200, 224)}), picture)
        assert np.array_equal(np.load(tmp_path / "padded.npy"), ours), "pixel by pixel"
