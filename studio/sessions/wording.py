"""Words on the screen for stages, their sources and a person's decisions."""

from collections.abc import Mapping
from typing import Any

from pipeline.decisions import Decision
from pipeline.matching import MODEL_MATCHERS
from pipeline.project import Stage
from pipeline.run import Progress
from pipeline.simulation.robots import ROBOTS
from studio.services.segmenter_catalogue import origin_of_masks

STAGE_TITLES: dict[Stage, str] = {
    "frame": "Frame",
    "segments": "Masks",
    "descriptions": "Objects",
    "matches": "Assets",
    "scene": "Scene",
    "task": "Task",
    "rounds": "Simulation",
    "solution": "Solving",
}
REPAIR_MODES = {
    "route": "the router repairs both sides",
    "repair": "only the simulation is repaired",
    "none": "nothing is repaired",
}
MATCHER_EVIDENCE = {
    "all": "size, shape, colour and appearance",
    "embedding": "the image embedding alone",
    "text": "descriptions",
    "image": "pictures",
    "image+text": "pictures and descriptions",
    "paper": "the picture and the descriptions of all assets",
}
"""What each matcher compares."""
NAMING = ("rename", "display_name")
"""Decisions that say themselves what an object is called."""


def robot_phrase(name: str) -> str:
    """Return with which robot a task is tried. A solution without a name is the floating gripper's."""
    robot = ROBOTS.get(name or "gripper")
    return robot.phrase if robot else f"with the robot {name}"


def progress_line(step: Progress) -> str:
    """Return a line of the log."""
    return f"{STAGE_TITLES[step.stage]} · {step.message}"


def describe_source(stage: Stage, made_with: str | None) -> str:
    """Return who or what made a stage's result; `made_with` is the name that the project stores for it."""
    name, _, more = (made_with or "").partition(", ")
    by = "offline rules" if name == "rules" else f"the language model {name}"
    return {
        "frame": "measured: the table is fitted to the depth",
        "segments": f"segmented by {origin_of_masks(name)}",
        "descriptions": "measured: colour, shape and size of each object",
        "matches": _matched(more),
        "scene": "measured: placed on the depth, then settled in MuJoCo",
        "task": f"proposed by {by}",
        "rounds": f"written and repaired by {by}; {REPAIR_MODES.get(more, more)}",
        "solution": f"by the scripted oracle, {robot_phrase(more)}",
    }[stage]


def _matched(by: str) -> str:
    """Return how the objects were matched; `by` is "MATCHER by ENCODER", and ", MODEL" if a model was asked."""
    matcher, _, rest = by.partition(" by ")
    model = rest.partition(", ")[2]
    if matcher in MODEL_MATCHERS:
        return f"matched by {model} from {MATCHER_EVIDENCE[matcher]}"
    evidence = MATCHER_EVIDENCE.get(matcher, MATCHER_EVIDENCE["all"])
    return f"compared with assets by {evidence}" + f", chosen by {model}" * bool(model)


def describe_decision(decision: Decision, names: Mapping[int, str] | None = None) -> str:
    """Return a decision in a few words, for the log and the titles of Undo and Redo.

    `names` are what objects are called, by segment id; others are numbers.
    """
    data = decision.data if decision.kind in NAMING else _named(decision.data, names or {})
    return {
        "camera": lambda: (
            f"camera: focal length {data['fx']:.0f} x {data['fy']:.0f} pixels"
            + (f", distances x {data['depth_factor']:g}" if data.get("depth_factor", 1) != 1 else "")
        ),
        "camera_pose": lambda: f"camera aligned by {data['source']}",
        "ground": lambda: "ground chosen",
        "views": lambda: f"{len(data['views'])} further views chosen",
        "robot_base": lambda: "robot base placed",
        "found": lambda: f"all masks replaced: {len(data['masks'])} found",
        "mask": lambda: (
            f"mask of {data['id']} {'added' if 'added' in data else 'corrected'} by {data['source']}"
            if data.get("source")
            else f"mask of {data['id']} drawn"
        ),
        "delete_segment": lambda: f"{data['id']} deleted",
        "merge_segments": lambda: f"{' and '.join(map(str, data['ids']))} merged",
        "not_object": lambda: f"{data['id']} is {'not an' if data['value'] else 'an'} object",
        "rename": lambda: f"{data['id']} named {data['name']}",
        "display_name": lambda: (
            f"{data['id']} named {data['name']}" if data["name"] else f"name of {data['id']} cleared"
        ),
        "choose_asset": lambda: f"{data['asset_id'] or 'reconstruction from the view'} chosen for {data['id']}",
        "make": lambda: f"{data['id']} reconstructed from the view: {data['way']}",
        "move": lambda: f"{data['id']} moved",
        "resize": lambda: f"{data['id']} resized to {data['scale'] * 100:.0f} % of its asset",
        "refit": lambda: f"{data['id']} {'fitted again' if 'pos' in data else 'reset to the fitted pose'}",
        "physics": lambda: f"mass and friction of {data['id']} set",
        "recolour": lambda: f"{data['id']} in {'the colour of the photograph' if data['value'] else 'its own colours'}",
        "bring": lambda: f"{data['name']} brought from the library",
        "walls": lambda: f"walls of the bin {'put back' if data['value'] else 'left out'}",
        "vary": lambda: f"twin under condition {data['condition']}",
        "place_camera": lambda: f"camera {data['name']} placed",
        "remove_camera": lambda: f"camera {data['name']} removed",
        "splats": lambda: f"splats of {data.get('id', 'the background')}: {data['name'] or 'removed'}",
        "task": lambda: f"task: {data['instruction']}",
        "fork": lambda: f"code of round {data['parent']} edited",
        "matcher": lambda: f"objects matched by {MATCHER_EVIDENCE.get(data['name'], data['name'])}",
        "send": lambda: f"sending to {data['server']} {'allowed' if data['allow'] else 'declined'}",
        "robot": lambda: f"robot chosen: {robot_phrase(data['name'])}",
        "calibrate": lambda: f"{len(data['parameters'])} parameters of the robot calibrated from {data['source']}",
        "accept": lambda: f"{data['stage']} accepted",
        "pin": lambda: "round unpinned" if data["round"] is None else f"round {data['round']} pinned",
        "ask_again": lambda: f"{data['kind']} asked again{' about ' * bool(data['about'])}{data['about']}",
        "use_measured": lambda: f"measured answer used for {data['about']}",
        "subtasks": lambda: f"subtask edited: {data['change']}",
        "review": lambda: f"{data.get('id', 'frame')} reviewed: {data['verdict']}",
        "undo": lambda: "undo",
        "redo": lambda: "redo",
    }[decision.kind]()


def _named(data: Mapping[str, Any], names: Mapping[int, str]) -> Mapping[str, Any]:
    """Return a decision's data with names for the numbers of objects."""
    named = dict(data)
    if "id" in data:
        named["id"] = names.get(data["id"], data["id"])
    if "ids" in data:
        named["ids"] = [names.get(id, id) for id in data["ids"]]
    return named
