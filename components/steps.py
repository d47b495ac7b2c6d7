"""What the six steps show, each a component of its own that knows shapes of data and not where they come from."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class FrameView(Component):
    """{image, depth, width, height, intrinsics: {fx, fy, cx, cy}, plane: [a, b, c, d], table: [[x, y]], facts, notes,
    camera: {fx, fy, cx, cy, came: {...}, changed, middle, table: [long, short]}}; tells `camera` {fx, fy, cx, cy}.

    `depth` is the address of float32 little-endian metres; the browser fetches it once and reads it under the cursor.
    """

    folder, tells = "frame_view", ("camera",)


class MaskCanvas(Component):
    """{token, image, width, height, next_id, next_colour, can_undo, can_redo, segments: [{id, name, colour, rle,
    is_object, source, quality, review}]}; tells what was decided, `changed` when an import has decided already, and
    `find` {name, settings} when a segmenter shall find everything anew.

    It asks `answer` outside Gradio's queue, always {token, seq, kind}; the answer is {seq, ...} or {seq, error}:
    prompt {points, labels, box, rle} and compare {rle} give readings [{rle, source, quality, title}]; standing,
    choose {name} and stop {name} give {chosen, segmenters: [{name, title, word, share, note}]}; export {form} gives
    {name, data} and import {data} gives {said}, data in base64. Of prompts one is in flight, the newest waits, stale
    ones are dropped.
    """

    folder, tells = "mask_canvas", ("decide", "undo", "redo", "changed", "find")

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)


class ObjectCards(Component):
    """{token, objects: [...], ways: [{way, title}], waiting}, objects of the inspector's shape: the selected one large,
    its candidates drawn in the photograph's view; the others small. Tells what was decided.

    It asks `answer` outside Gradio's queue, always {token, seq, kind}; the answer is {seq, ...} or {seq, error}:
    compare {id, assets} gives {photo, gone, aspect, outline, drawn: {asset: {state, image, overlap, depth_error,
    scale, outline}}}, asked again while a state is "drawing"; the asset "" is what was made from the view, "way:box"
    what would be in that way, with what it `says`; the first is drawn at once. search {words} gives
    {total, every_word, assets: [{asset_id, name, image, size}]}.
    """

    folder, tells = "object_cards", ("decide",)

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)


class FitTable(Component):
    """{rows: [{id, name, colour, sure: {word, reason}, iou, depth_error, verdict, ok}], notes: [sentence], waiting}."""

    folder = "fit_table"


class TaskCards(Component):
    """{tasks: [{name, instruction, kind, goals, objects, source, level, tried, doable, why, carries, picture}],
    chosen: instruction, decided: whether a person chose it, trying: instruction, waiting}; level is "easy", "medium",
    "hard" or "", and doable is null where nobody knows.

    Tells `pick` {instruction}, `rehearse` when cards are looked at that were not tried yet, `hush` to end that.
    """

    folder, tells = "task_cards", ("pick", "rehearse", "hush")


class AskedBack(Component):
    """{reason, instead, works}: why a person's words do not fit, the words that may have been meant, others that work.

    Tells `pick` {instruction} when a person takes some of these.
    """

    folder, tells = "asked_back", ("pick",)


class RoundTimeline(Component):
    """{rounds: [{number, task, parent, clean, checks, noticed, passed, reward, crash, timed_out, violation, route,
    reason, confidence, change, seconds, changes, code}], lanes: [[number]], best, pinned,
    comparing: {a, b, changes, reasons} or null, running, playing, arranging, rolling}; changes hold a diff's rows by
    file.

    Tells `edit` {number}, `play` {number, instant} when a person wants to see a round, at a failed check's instant
    where there is one, `arrange` {number} to drag what it ended in and `aim` {number} to make that the goal, `leave`,
    `compare` {a, b} and `pin` {number}, each null to end it.
    """

    folder, tells = "round_timeline", ("edit", "play", "arrange", "aim", "leave", "compare", "pin")


class Results(Component):
    """{solved, sentence, seeds: [{seed, reward, success, crash, why}], robots: [{name, title, note, chosen}], busy,
    video, failure: {video, seed, instant}, zip, stages: [{stage, state, source}]}.

    Tells `solve` {robot} when a person wants the task tried with a robot.
    """

    folder, tells = "results", ("solve",)
