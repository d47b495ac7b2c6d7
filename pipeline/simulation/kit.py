"""The kit: everything a simulation and its checks may use. Metres, radians; z is up, the table's top is z = 0.

A program is two sources. simulation.py builds the task; checks.py tests it.

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
        run = sim.rollout()
        gap = run.end("red_cube").bottom - run.end("blue_cube").top
        assert abs(gap) < 0.01, f"red_cube hangs {gap * 100:.1f} cm above blue_cube"

Only kit, numpy and math may be imported. Every check is a function check_*(sim) with at least one assert that says
what it found. Do not write an oracle or a reward of your own: goals make the reward, the kit rolls out the oracle.

scene
    scene.objects, scene["red_cube"]           Objects as photographed
    scene.table.contains((x, y), margin=0.02)  also .centre, .bounds (xmin, ymin, xmax, ymax), .polygon
    scene.right, scene.away                    unit (x, y): to the camera's right, away from the camera
Object
    .name .category .colour .rgb .container .fixed
    .shape                                     "box" "cube" "cylinder" "sphere" "bowl" "irregular"
    .size                                      extents (3,) along its own axes;  .volume of that box, .mass in kg
    .position                                  centre (3,);  .yaw .tilt angles;  .top .bottom z now;  .height now
    .radius                                    half of the larger ground extent;  .outline (N, 2) seen from above

Simulation(scene, seed): arrange before any rollout
    sim.keep("a", "b")                         leave all others out
    sim.remove("c")                            leave it out
    sim.copy("a", "a_2", xy)                   a second one of the same
    sim.move("a", xy=None, z=None, yaw=None)   another start pose; on the table unless z of its bottom is given
    sim.resize("a", 0.8)                       0.5 to 2
    sim.scatter("a", "b", gap=0.03)            collision-free places drawn by the seed
    sim.add_zone("zone", xy, (0.2, 0.15))      flat area, sides along right and away; one number: a disc's diameter
    sim.add_container("bin", xy, (0.2, 0.15), height=0.05)    an open box that stands fast
    sim.free_spot(radius)                      (x, y) of an empty place, nearest to the table's middle
    sim.goal(kit.on("a", "b"), ...)            one stage; call again for the next stage in order
    sim.objects, sim["a"]                      Objects as now placed;  sim.scene as photographed
    sim.zones["zone"]                          .xy;  .outside(xy) metres a point is outside it, negative within
    sim.rollout()                              a Run;  sim.reward_at_start() the reward before anything moved

Goals. The reward is the share of goals met at rest at the end; a stage counts once the stages before it were met.
Distances between objects are between their centres on the ground.
    kit.on("a", "b", tolerance=0.02)           a rests on top of b
    kit.inside("a", "bowl", tolerance=0.01)    a's centre within the rim, its bottom below the rim
    kit.stacked(["base", "middle", "top"])     each on the one before
    kit.in_row(["a", "b", "c"], along="right", spacing=None, tolerance=0.03)    this order, one line, on the table
    kit.in_zone("a", "zone", tolerance=0.0)    a's whole footprint in the zone
    kit.at("a", (0.1, 0.2), tolerance=0.03)    a's centre is there
    kit.near("a", "b", distance=0.15)          kit.away("a", "b", distance=0.25)
    kit.left_of("a", "b")                      right_of, in_front_of, behind: as the camera sees it
    kit.upright("a")                           kit.on_table("a")
A goal has .name, .met(state), .miss(state) in metres, .value(state) in [0, 1]; states: run.state_at_start/_at_end.

Run
    run.reward, run.solved, run.why            why: the first goal not met and what the oracle says about it
    run.rewards, run.times                     at each recorded instant (T,)
    run.start("a"), run.end("a")               Objects at rest before and after
    run.path("a")                              centres (T, 3);  run.moved("a") metres from start to end
    run.touching("a", "b")                     at the end; the table is "table"
    run.grasps                                 ((time, name), ...)
    run.events                                 each with .time .verb .object .target .ok .message
    run.goals                                  per goal {"name", "met", "value", "miss", "nearest_miss", "stage"}
    run.at_rest                                everything lies still at the end
"""

from pipeline.simulation.goals import (
    Goal,
    at,
    away,
    behind,
    in_front_of,
    in_row,
    in_zone,
    inside,
    left_of,
    near,
    on,
    on_table,
    right_of,
    stacked,
    upright,
)
from pipeline.simulation.objects import KitError, Object, Region, Scene
from pipeline.simulation.oracle import Event
from pipeline.simulation.rollout import Run
from pipeline.simulation.state import State
from pipeline.simulation.world import Simulation

__all__ = [
    "Event",
    "Goal",
    "KitError",
    "Object",
    "Region",
    "Run",
    "Scene",
    "Simulation",
    "State",
    "at",
    "away",
    "behind",
    "in_front_of",
    "in_row",
    "in_zone",
    "inside",
    "left_of",
    "near",
    "on",
    "on_table",
    "right_of",
    "stacked",
    "upright",
]
