"""Answers by rules to the questions of the studio, from the text of their prompts alone.

Tasks and programs are the offline planner's. Objects and assets are compared by their words: pictures are never looked
at, so a question that has pictures only is answered with "none".
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from pipeline.models import Question
from pipeline.models.prompt_templates import FOLDER, load_prompt
from pipeline.planner import PlannerModel

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey")
DENSITY_G_PER_CM3 = 0.4
"""Of household objects, packaging and air included."""
COMMON_WORDS = frozenset({"an", "the", "of", "with", "and", "or", "in", "on", "is", "cm", "object", "model"})


class AnyAnswer(BaseModel):
    """An answer with whatever fields the planner gives."""

    model_config = ConfigDict(extra="allow")


class RuleAnswers:
    """Answers questions from their prompts; remembers the programs that a router has tried."""

    def __init__(self):
        self._prompts = {file.stem: load_prompt(file.stem) for file in FOLDER.glob("*.md")}
        self._tried: dict[str, list[list[str]]] = {}

    def answer(self, kind: str, prompt: str) -> Mapping[str, Any] | None:
        """Return the answer to a question; None if its kind is unknown. Raises ModelError if the rules have none."""
        template = self._prompts.get(kind)
        data = template.read(prompt) if template else None
        if data is None:
            return None
        if rule := _RULES.get(kind):
            return rule(data)
        if kind in ("route", "repair_simulation", "repair_checks"):
            data.setdefault("checks", data.get("failed_checks", ""))
            data["tried"] = self._programs_tried(data)
        return PlannerModel().ask(Question(kind, data, AnyAnswer)).model_dump()

    def _programs_tried(self, data: Mapping[str, Any]) -> list[list[str]]:
        """Return the programs that this router has run, which the prompts do not contain."""
        key = json.dumps(data["task"], sort_keys=True)
        program = [data["simulation"], data["checks"]]
        if len(data["history"]) <= 1:
            self._tried[key] = []
        tried = self._tried.setdefault(key, [])
        if program not in tried:
            tried.append(program)
        return tried


def _describe_segment(data: Mapping[str, Any]) -> dict[str, Any]:
    measured = data["measured"]
    colour = measured["colour"] if measured["colour"] in COLOURS else "grey"
    size = " x ".join(f"{extent:.0f}" for extent in measured["size_cm"])
    name, caption = f"{colour}_{measured['shape']}", f"A {colour} {measured['shape']}, {size} cm."
    words = {"name": name, "caption": caption, "colour": colour, "material": "", "text": ""}
    return {"is_object": True, **words, "confidence": 0.5}


def _describe_asset(data: Mapping[str, Any]) -> dict[str, Any]:
    asset = data["asset"]
    size = " x ".join(f"{extent:.0f}" for extent in asset["size_cm"])
    caption = f"{asset['name'].replace('_', ' ').capitalize()}, {size} cm."
    return {"caption": caption, "category": asset["category"], "confidence": 0.5}


def _choose_match(data: Mapping[str, Any]) -> dict[str, Any]:
    lines = [f"{one['name']} {one['caption']} {one['category']}" for one in data["candidates"]]
    choice, reason = _most_words_in_common(f"{data['object']['name']} {data['object']['caption']}", lines)
    return {"choice": choice, "reason": reason, "confidence": 0.5}


def _match_by_words(data: Mapping[str, Any]) -> dict[str, Any]:
    lines = [line.partition(". ")[2] for line in data["assets"].splitlines()]
    choice, reason = _most_words_in_common(data["object"], lines)
    return {"choice": choice, "scores": [{"number": choice, "score": 0.5}] if choice else [], "reason": reason}


def _match_image(_: Mapping[str, Any]) -> dict[str, Any]:
    return {"choice": 0, "scores": [], "reason": "The scripted model does not look at pictures."}


def _weigh_object(data: Mapping[str, Any]) -> dict[str, Any]:
    x, y, z = data["object"]["size_cm"]
    likely = max(1.0, round(x * y * z * DENSITY_G_PER_CM3, 1))
    mass = {"lightest_g": likely / 3, "likely_g": likely, "heaviest_g": likely * 3}
    friction = {"least_friction": 0.3, "likely_friction": 0.6, "most_friction": 0.9}
    length = {"shortest_cm": round(0.7 * max(x, y, z), 1), "longest_cm": round(1.4 * max(x, y, z), 1)}
    return {**mass, **friction, **length, "reason": f"By volume, at {DENSITY_G_PER_CM3} g/cm3."}


def _most_words_in_common(text: str, lines: list[str]) -> tuple[int, str]:
    """Return the number of the line with most words of the text, from 1, and the reason; 0 if none has one."""
    wanted = _words(text)
    common = [sorted(wanted & _words(line)) for line in lines]
    best = max(range(len(lines)), key=lambda index: len(common[index]), default=0)
    if not lines or not common[best]:
        return 0, "No word in common."
    return best + 1, f"In common: {', '.join(common[best])}."


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower().replace("_", " "))) - COMMON_WORDS


def _match_paper(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _match_by_words(data).items() if key != "scores"}


def _judge_task(data: Mapping[str, Any]) -> dict[str, Any]:
    scene, reason = _most_words_in_common(data["task"], [" ".join(one["objects"]) for one in data["scenes"]])
    return {"scene": scene or 1, "reason": reason}


_RULES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "describe_segment": _describe_segment,
    "find_missed": lambda _: {"missed": []},
    "describe_asset": _describe_asset,
    "choose_match": _choose_match,
    "match_text": _match_by_words,
    "match_image_text": _match_by_words,
    "match_image": _match_image,
    "match_paper": _match_paper,
    "judge_task": _judge_task,
    "weigh_object": _weigh_object,
}


def smallest_answer(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Return a small value that fits a JSON schema, for questions that the rules do not know."""
    root = root or schema
    if "$ref" in schema:
        return smallest_answer(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if "anyOf" in schema:
        return smallest_answer(schema["anyOf"][0], root)
    match schema.get("type"):
        case "object":
            return {name: smallest_answer(one, root) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [smallest_answer(schema["items"], root)] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return max(0, schema.get("minimum", 0))
        case "boolean":
            return False
    return "scripted"
