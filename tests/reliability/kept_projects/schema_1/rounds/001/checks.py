import math


def check_oracle_solves_it(sim):
    """The scripted robot reaches every goal."""
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"


def check_nothing_is_solved_at_the_start(sim):
    """A task that is done already is no task."""
    reward = sim.reward_at_start()
    assert reward < 0.99, f"reward {reward:.2f} before anything moved: the goals hold at the start"


def check_the_robot_did_it(sim):
    """Something was picked up: the goals are not reached by things that fall or roll."""
    assert sim.rollout().grasps, "the robot picked nothing up"


def check_nothing_falls_off_the_table(sim):
    run = sim.rollout()
    for thing in sim.objects:
        top = run.end(thing.name).top
        assert top > 0, f"{thing.name} ends {-top * 100:.0f} cm below the table's top"


def check_left_and_right_are_exchanged(sim):
    """Each ends as far left of the middle of them all as it started right of it, and as far away from the camera."""
    run = sim.rollout()
    names = ["red_cube", "purple_cube", "green_cube"]
    right = sim.scene.right
    ahead = [run.start(name).position[:2] @ right for name in names]
    middle = (max(ahead) + min(ahead)) / 2
    for name, before in zip(names, ahead):
        want = run.start(name).position[:2] + 2 * (middle - before) * right
        off = math.dist(run.end(name).position[:2], want)
        assert off < 0.05, f"{name} ends {off * 100:.1f} cm from its mirror image"
