"""What a person calls the pipeline's stages, and what made them."""

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
        "matches": "matched by size, shape, colour and looks",
        "scene": "measured: placed on the depth, then settled in MuJoCo",
        "task": f"proposed by {by}",
        "rounds": f"written and repaired by {by}; {MODES.get(more, more)}",
        "solution": f"solved by the scripted oracle, {ROBOTS['arm' if more == 'arm' else 'gripper']}",
    }[stage]
