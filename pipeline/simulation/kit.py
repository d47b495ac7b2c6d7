"""The kit: all that a simulation and its checks may use. Metres, radians; z is up, the table's top is z = 0.

    import kit

    def build(scene, seed):
        sim = kit.Simulation(scene, seed)      # every object where the photograph shows it
        sim.keep("red_cube", "blue_cube")      # leave all others out
        sim.scatter("red_cube", "blue_cube")   # new places for each seed; seed 0 stays as photographed
        sim.goal(kit.on("red_cube", "blue_cube"))
        return sim

    def check_oracle_solves_it(sim):
        run = sim.rollout()                    # the oracle acts with physics; computed once per sim
        assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"

    def check_red_cube_ends_on_blue_cube(sim):
        gap = sim.rollout().end("red_cube").bottom - sim.rollout().end("blue_cube").top
        assert abs(gap) < 0.01, f"red_cube hangs {gap * 100:.1f} cm above blue_cube"

Only kit, numpy and math may be imported. Every check is a function check_*(sim) with an assert that says what it found.

scene
    scene.objects, scene["red_cube"]           Objects as photographed
    scene.table.contains((0.1, 0.2), margin=0.02)    also .centre, .bounds (x0, y0, x1, y1), .polygon
    scene.walls                                Objects: walls of a bin with the table as its floor, else none
    scene.right, scene.away                    unit (x, y): to the camera's right, away from it
Object
    .name .category .colour .rgb .container .fixed
    .shape                                     "box" "cube" "cylinder" "sphere" "bowl" "irregular"
    .size                                      extents along its own axes;  .volume of its hull, .mass in kg
    .position                                  centre (3,);  .yaw .tilt angles;  .top .bottom z now;  .height now
    .radius                                    half the larger ground extent;  .outline (N, 2) seen from above
    .parts, .part("top_drawer")                what moves on joints: .name .top .bottom .corners (N, 3) .open 0 to 1

Simulation: arrange before any rollout. Where a place is taken, choose another or clear it.
    sim.remove("yellow_can")                   leave it out;  sim.keep("red_cube", "blue_cube") leaves all others out
    sim.copy("red_cube", "red_cube_2", xy=(0.2, -0.15))      a second one of the same
    sim.move("red_cube", xy=(0.0, 0.05), yaw=0.5)            another start; z= its bottom's height, else the table
    sim.resize("blue_cube", 0.8)               0.5 to 2 times as large
    sim.add_zone("goal_zone", xy=(0.1, 0.1), size=(0.2, 0.15))    flat, sides along right and away; one number: a disc
    sim.add_container("bin", xy=(-0.1, -0.15), size=(0.16, 0.12), height=0.05)    a fixed open box
    sim.scatter("red_cube", "green_cube", gap=0.03)          drawn by the seed: free, gap between edges, on the table
    sim.scatter("red_cube", within="goal_zone")              the same, centred in that zone; mirrored=True: so that
                                               mirror images are free
    sim.set_open("cabinet", "top_drawer", 0.8)               starts open by that share; as photographed: shut
    sim.free_spot(0.06)                        empty (x, y) for a disc of that radius, nearest to the middle or near=;
                                               clear_of=[(x, y)]: and free of such discs
    sim.mirrored("red_cube", "blue_cube")["red_cube"]        (x, y) with left and right exchanged
    sim.circle_around("white_bowl", "red_cube", "blue_cube")    {name: (x, y)} evenly around it; radius=0.3
    sim.goal(kit.on("red_cube", "blue_cube"), name="first")  one stage; call again for the next stage in order
    sim.objects, sim["red_cube"], sim.zones["goal_zone"]     as now placed; a zone: .xy, .outside((x, y)) metres
    sim.scene                                  as photographed;  sim.rollout() a Run;  sim.reward_at_start()

Goals. The reward is the share of goals met at rest at the end; a stage counts once the stages before it were met.
Distances are between centres on the ground. along: "right" or "away".
    {goals}
A goal has .name, .met(state), .miss(state) in metres; run.state_at_start, run.state_at_end.

More tasks
    sim.goal(*[kit.at(n, xy) for n, xy in sim.mirrored("red_cube", "blue_cube").items()])    mirrored
    place_of_can = sim["yellow_can"].position[:2]            put one where another stood
    sim.goal(kit.at("red_cube", place_of_can), kit.away("yellow_can", "red_cube", distance=0.2))

Run
    run.reward, run.solved, run.why            why: the first goal not met and the oracle's words
    run.start("red_cube"), run.end("red_cube") Objects at rest before and after
    run.path("red_cube")                       centres (T, 3) at run.times (T,);  run.moved("red_cube") start to end
    run.touching("red_cube", "blue_cube")      at the end; the table is "table"
    run.grasps                                 ((time, name), ...)
    run.events                                 each with .time .verb .object .target .ok .message
    run.goals                                  per goal {"name", "met", "value", "miss", "nearest_miss", "stage"}
    run.why_not_in_order(kit.on("a", "b"), kit.near("b", "c"))    why not in this order; else ""
    run.at_rest                                all lies still at the end
"""

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_functions as _goal_functions
from pipeline.simulation.goals.spec import goal_manual as _goal_manual
from pipeline.simulation.objects import KitError, Object, Region
from pipeline.simulation.robots.oracle.oracle import Event
from pipeline.simulation.rollout import Run
from pipeline.simulation.scene import Scene
from pipeline.simulation.state import State
from pipeline.simulation.world import Simulation

__all__ = ["Event", "Goal", "KitError", "Object", "Region", "Run", "Scene", "Simulation", "State"]
__all__ += sorted(_goal_functions())  # pyright: ignore[reportUnsupportedDunderAll]
__doc__ = (__doc__ or "").replace("    {goals}", _goal_manual())
globals().update(_goal_functions())
