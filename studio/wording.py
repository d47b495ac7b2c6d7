"""What a person calls the pipeline's stages, and what made them."""

from pipeline.decisions import Decision
from pipeline.matching import ASKING
from pipeline.project import Stage
from pipeline.run import Progress

STAGES: dict[Stage, str] = {
    "frame": "Frame",
    "segments": "Masks",
    "descriptions": "Objects",
    "matches": "Assets",
    "scene": "Scene",
    "task": "Task",
    "rounds": "Simulation",
    "solution": "Solving",
}
MODES = {
    "route": "the router repairs both sides",
    "repair": "only the simulation is repaired",
    "none": "nothing is repaired",
}


MATCHERS = {
    "all": "size, shape, colour and looks",
    "embedding": "the image embedding alone",
    "text": "descriptions",
    "image": "pictures",
    "image+text": "pictures and descriptions",
}
ROBOTS = {"gripper": "with a floating gripper", "arm": "with a UR5e arm and a 2F-85 gripper"}


def told(step: Progress) -> str:
    """A line of the log."""
    return f"{STAGES[step.stage]} · {step.message}"


def maker(stage: Stage, made_with: str | None) -> str:
    """Who or what made a stage's result, in a sentence's words; `made_with` is the name the project keeps."""
    name, _, more = (made_with or "").partition(", ")
    by = "offline rules" if name == "rules" else f"the language model {name}"
    return {
        "frame": "measured: the table is fitted to the depth",
        "segments": "segmented by SAM 2" if name == "sam2" else "segmented by depth and colour, a stand-in for SAM 2",
        "descriptions": "measured: colour, shape and size of each object",
        "matches": _matched(more),
        "scene": "measured: placed on the depth, then settled in MuJoCo",
        "task": f"proposed by {by}",
        "rounds": f"written and repaired by {by}; {MODES.get(more, more)}",
        "solution": f"solved by the scripted oracle, {ROBOTS['arm' if more == 'arm' else 'gripper']}",
    }[stage]


def _matched(by: str) -> str:
    """`by` is as the project keeps it: matcher, encoder, then the model where one was asked."""
    matcher, _, rest = by.partition(" by ")
    model = rest.partition(", ")[2]
    if matcher in ASKING:
        return f"matched by {model} from {MATCHERS[matcher]}"
    return f"matched by {MATCHERS.get(matcher, MATCHERS['all'])}" + f", chosen by {model}" * bool(model)


def words(decision: Decision) -> str:
    """A decision as a person would say it."""
    data = decision.data
    return {
        "camera": lambda: f"camera: focal length {data['fx']:.0f} x {data['fy']:.0f} pixels",
        "found": lambda: f"everything found anew: {len(data['masks'])} masks",
        "mask": lambda: f"mask of {data['id']} drawn",
        "delete_segment": lambda: f"{data['id']} deleted",
        "merge_segments": lambda: f"{' and '.join(map(str, data['ids']))} merged",
        "not_object": lambda: f"{data['id']} is {'not an' if data['value'] else 'an'} object",
        "rename": lambda: f"{data['id']} named {data['name']}",
        "choose_asset": lambda: f"{data['asset_id'] or 'made from the view'} chosen for {data['id']}",
        "make": lambda: f"{data['id']} made from the view: {data['way']}",
        "move": lambda: f"{data['id']} moved",
        "resize": lambda: f"{data['id']} made {data['scale'] * 100:.0f} % of its asset's size",
        "refit": lambda: f"{data['id']} {'fitted again' if 'pos' in data else 'back where the machine had it'}",
        "physics": lambda: f"{data['id']} weighed",
        "task": lambda: f"task: {data['instruction']}",
        "fork": lambda: f"code of round {data['parent']} edited",
        "matcher": lambda: f"objects are matched by {MATCHERS.get(data['name'], data['name'])}",
        "robot": lambda: f"the task is done {ROBOTS[data['name']]}",
        "accept": lambda: f"{data['stage']} accepted",
        "pin": lambda: "round unpinned" if data["round"] is None else f"round {data['round']} pinned",
        "ask_again": lambda: f"{data['kind']} asked again{' about ' * bool(data['about'])}{data['about']}",
        "use_measured": lambda: f"the measured answer taken for {data['about']}",
        "undo": lambda: "undo",
        "redo": lambda: "redo",
    }[decision.kind]()
