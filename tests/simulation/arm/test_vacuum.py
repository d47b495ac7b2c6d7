"""The vacuum cup holds only what it touches, up to measured forces, and refuses what it cannot seal."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import mujoco
import numpy as np
import pytest

from pipeline.simulation import kit
from pipeline.simulation.arm import robot_model
from pipeline.simulation.arm.suction_arm import SuctionArm
from pipeline.simulation.arm.tools import vacuum
from pipeline.simulation.arm.tools.seals import find_seals
from pipeline.simulation.arm.tools.suction_tool import SuctionTool
from pipeline.simulation.arm.tools.vacuum import Vacuum
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import ROBOTS, RobotError, robot_kind
from pipeline.simulation.world import set_robot
from pipeline.solving import save_model

GRAVITY = 9.81


def suction_simulation(table, *names):
    sim = kit.Simulation(kit.Scene.load(table), 0)
    sim.keep(*names)
    return sim


@pytest.fixture(scope="module")
def carried(table):
    sim = suction_simulation(table, "red_cube", "blue_cube", "yellow_can")
    sim.goal(kit.on("red_cube", "blue_cube"))
    set_robot(sim, SuctionArm())
    return sim, sim.rollout()


def test_a_cube_is_stacked_by_suction_and_the_saved_solution_shows_the_arm_without_fingers(carried, tmp_path):
    sim, run = carried
    assert run.solved and run.at_rest, run.why
    assert run.moved("yellow_can") < 0.002 and not run.moved_before_touch
    assert np.linalg.norm(np.diff(run.path("red_cube"), axis=0), axis=1).max() < 0.08
    assert sim.bench().model.nu == run.actions.shape[1] == 7
    sim, _ = carried
    physics = Physics(sim.bench())
    tool = SuctionTool(physics)
    grasp = tool.find_grasps(physics.state()["red_cube"]).grasps[0]
    assert "nothing instead of red_cube" in tool.hold("red_cube", grasp)
    assert not physics.data.eq_active.any()
    _, run = carried
    (tmp_path / "scene").mkdir()
    model = mujoco.MjModel.from_xml_path(str(save_model(run.xml, tmp_path, "solution")))
    names = {model.body(b).name for b in range(model.nbody)}
    assert model.nq == run.qpos.shape[1] and vacuum.CUP_BODY in names
    assert not any("finger" in name or "pad" in name for name in names)
    assert sum(model.geom_group == robot_model.VISUAL_GROUP) > 20


class HungBox:
    """A box that hangs on a cup fixed in the world, off its middle; as much of a Physics as the vacuum uses."""

    def __init__(self, mass, off_centre):
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.integrator = 0.002, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        down = spec.worldbody.add_frame(pos=[0, 0, 1], quat=[0, 1, 0, 0])
        spec.attach(vacuum.specification(), prefix="arm/hand/", frame=down)
        box = spec.worldbody.add_body(name="box", pos=[off_centre, 0, 1 - vacuum.TOOL_LENGTH_M - 0.02])
        box.add_freejoint()
        box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.03, 0.02], mass=mass)
        motor = spec.worldbody.add_body(name="motor")
        motor.add_joint(name="arm/wrist_3_joint")
        motor.mass, motor.inertia, motor.explicitinertial = 1, [1, 1, 1], True
        vacuum.add_welds(spec, ["box"])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.after_step: Callable[[], None] | None = None
        mujoco.mj_forward(self.model, self.data)

    def wait(self, seconds):
        for _ in range(round(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)
            assert self.after_step is not None
            self.after_step()


@pytest.mark.parametrize(("mass", "off_centre"), [(0.1, 0.0), (0.5, 0.03), (1.0, 0.01)])
def test_the_measured_forces_are_those_of_statics(mass, off_centre):
    hung = HungBox(mass, off_centre)
    cup = Vacuum(cast(Any, hung))
    cup.grip("box")
    hung.wait(1.0)
    pull, shear, moment = cup.forces()
    assert cup.on and pull == pytest.approx(mass * GRAVITY, rel=0.02)
    assert shear < 0.05 and moment == pytest.approx(mass * GRAVITY * off_centre, rel=0.05, abs=0.005)


@pytest.mark.parametrize(("mass", "off_centre", "word"), [(4.5, 0.0, "pulled off"), (1.5, 0.045, "peeled off")])
def test_a_load_beyond_the_limits_is_lost_with_the_reason(mass, off_centre, word):
    hung = HungBox(mass, off_centre)
    cup = Vacuum(cast(Any, hung))
    cup.grip("box")
    hung.wait(0.3)
    assert not cup.on and word in cup.lost
    assert hung.data.body("box").xpos[2] < 0.7


def test_what_the_cup_cannot_hold_is_refused_with_the_reason(table):
    sim = suction_simulation(table, "red_cube", "blue_cube")
    sim.resize("red_cube", 0.5)
    set_robot(sim, SuctionArm())
    physics = Physics(sim.bench())
    cube = physics.state()["blue_cube"]
    assert find_seals(physics, cube).grasps
    assert "kg" in find_seals(physics, replace(cube, mass=2.5)).refusal
    assert "air leaks" in find_seals(physics, replace(cube, category="sponge")).refusal
    for grasp in find_seals(physics, cube).grasps:
        assert np.linalg.norm(grasp.point[:2] - cube.position[:2]) < cube.reach
        assert grasp.approach[2] == pytest.approx(-1, abs=0.01) and grasp.point[2] == pytest.approx(cube.top, abs=1e-3)
    small = physics.state()["red_cube"]
    assert "2.5 cm wide" in find_seals(physics, small).refusal


def test_every_robot_is_made_by_its_name():
    for name, kind in ROBOTS.items():
        assert kind.name == name and kind.make(True).source == kind.source
    with pytest.raises(RobotError, match="there are: gripper, arm, arm-suction"):
        robot_kind("hand")
