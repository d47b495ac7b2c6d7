"""What the six steps show: components that know the shape of their data and not where it comes from."""

from components.component import Component


class FrameView(Component):
    """Value: {image, depth, width, height, intrinsics: {fx, fy, cx, cy}, plane: [a, b, c, d], table: [[x, y]], facts,
    notes, grounds: [{outline: [[x, y]], pixel: [x, y], share}], camera: {fx, fy, cx, cy, original: {...}, changed,
    median_depth, table: [long, short]}}.

    `depth` is the address of float32 little-endian metres; the browser fetches it once and reads it under the cursor.
    The first of `grounds` is the current one; there are others only if they are likely. Events: `camera` {fx, fy, cx,
    cy}, `ground` {pixel}.
    """

    folder, event_names = "frame_view", ("camera", "ground")
    patterns = ("fault", "form_field")


class EvidenceCard(Component):
    """Value: {doubts: [{reason, cure}], figures: [{name, text, doubtful}], objects: [text], photo, unexplained}; null
    before the twin was measured.

    `unexplained` is the address of a picture that tints what nothing explains, over `photo`.
    """

    folder = "evidence_card"


class PointCloud(Component):
    """Value: address of a frame's points, or "": float32 little-endian x, y, z in metres in world axes, (N, 3), then
    uint8 red, green, blue, (N, 3). They are fetched and drawn while the component is on the screen only.
    """

    folder = "point_cloud"


class MaskCanvas(Component):
    """Value: {token, image, width, height, next_id, next_colour, can_undo, can_redo, segments: [{id, name, colour, rle,
    is_object, source, quality, review}]}.

    Events: `decide`, `undo`, `redo`, `changed` when an import has been recorded, `find` {name, settings} to replace all
    masks by a segmenter's.

    Requests are {token, seq, kind, ...}, answered by {seq, ...} or {seq, error}: prompt {points, labels, box, rle} and
    compare {rle} give candidates [{rle, source, quality, title}]; status, choose {name} and stop {name} give {chosen,
    segmenters: [{name, title, state, progress, note}]}; export {form} gives {name, data} and import {data} gives
    {message}, data in base64. One prompt is in flight, the newest waits, outdated ones are dropped.
    """

    folder, event_names = "mask_canvas", ("decide", "undo", "redo", "changed", "find")
    patterns = ("form_field", "list_row", "menu", "progress")


class ObjectCards(Component):
    """Value: {token, objects: [...], methods: [{method, title}], waiting}, objects of the inspector's shape.

    The selected one is large, with its candidates rendered in the photograph's view; the others are small.
    Event: `decide`.

    Requests are {token, seq, kind, ...}, answered by {seq, ...} or {seq, error}: compare {id, assets} gives {photo,
    background, aspect, outline, renders: {asset: {state, image, overlap, depth_error, scale, outline}}} and is repeated
    while a state is "drawing". The asset "" is the object reconstructed from the view, "method:box" its reconstruction
    by that method, with its provenance in `note`; the first one is rendered at once. search {words} gives {total,
    every_word, assets: [{asset_id, name, image, size}]}.
    """

    folder, event_names = "object_cards", ("decide",)
    patterns = ("fault", "form_field", "list_row", "menu", "progress", "section_title", "spinner", "tile")


class FitTable(Component):
    """Value: {rows: [{id, name, colour, confidence, iou, depth_error, verdict, ok}], notes, waiting, walls}.

    `walls` is {note, kept, change}: whether the twin has the walls of its bin, and what the button says; null for none.
    Event: `keep_walls` {value}.
    """

    folder, event_names = "fit_table", ("keep_walls",)


class TaskCards(Component):
    """Value: {tasks: [{name, instruction, text, words, kind, goals, objects, source, level, tried, feasible, why,
    refusal, moves, picture}], chosen: instruction, decided, current_trial: instruction, offer, fills, waiting}.

    level is "easy", "medium", "hard" or ""; feasible is null if unknown; refusal says why a dry run finds that the
    robot in use cannot do it, empty if it can or is not known; `decided` says whether a person chose the task; `fills`
    is the selector of the text field that a card fills with its `text`; `offer` is empty while trials cannot start, and
    another text each time they can again. Events: `start_trials` once for each offer while cards are visible that were
    not tried yet, `stop_trials`.
    """

    folder, event_names = "task_cards", ("start_trials", "stop_trials")
    patterns = ("form_field", "spinner", "tile")


class TaskClarification(Component):
    """Value: {reason, suggestion, alternatives, fills}: why a task text does not fit, texts that may be meant, texts
    that work, and the selector of the text field that they fill.
    """

    folder = "clarification"


class TaskBuilder(Component):
    """Value: {token, objects: [{id, name, words, colour, parts: [{name, words}], place}], table: [[right, away]], axes,
    forms: [{key, goal, along, new_container, words, holes: [{type, index}]}], zones and containers: [{name, words}],
    fills, running}.

    `running` says whether rounds are being made; `words` of a form has "…" for each of its holes, whose types are those
    of `pipeline.planner.goal_forms`; `place` and `table` are in metres to the camera's right and away from it, which
    `axes` are in the world; `fills` is the selector of the task's text field.

    Requests are {token, seq, kind, ...}, answered by {seq, ...} or {seq, error}: read {text} and build {goals}, with or
    without the person's {text}, give {goals, text, words, why, unread}, and read whether the task is_known; preview
    {goals} gives {why, poses: {name: [x, y, z, w, x, y, z]}}, the layout in which a dry run ends. `goals` are those of
    task.json: one list a stage of {goal, names, along, new_container, xy}.

    While it is open, the viewer shows the poses (static/viewer/frame/linked_viewers.js); "grs-build" opens it.
    """

    folder = "task_builder"
    patterns = ("disclosure", "form_field", "section_title", "select", "spinner")


class TaskMap(Component):
    """Value: {tasks: [{id, words, text, goals, level, demands, solved, layouts, difficulty, worth, worth_layouts,
    worth_reason, novelty, nearest, brought, distractors, brings}], dropped: [{words, reason}], running: {kept, wanted,
    message} or null, can_start, can_learn, n, summary, fills}.

    difficulty, novelty and worth (a learner's success after `n` demonstrations, null if not measured) are in [0, 1];
    `can_learn` says whether the packages of a learner are installed; `brings` are objects of the library that a task
    needs and that the twin does not have yet; `fills` is the selector of the text field that a used task fills with its
    `text`. Events: `generate` {count, level or null, worth}, `stop`, `bring` {id}.
    """

    folder, event_names = "task_map", ("generate", "stop", "bring")
    patterns = ("disclosure", "form_field", "progress", "section_title")


class RoundTimeline(Component):
    """Value: {rounds: [{number, task, parent, clean, checks, mutations, changed, passed, reward, layouts, crash,
    timed_out, violation, route, reason, confidence, change, seconds, changes, code, causes}], lanes: [[number]], best,
    pinned, comparing: {titles, reasons, outcomes, changes} or null, running, replayed_round, arranging, replaying,
    judging: {number, parent, change, changes} or null, plays, charts}; changes hold the rows of a diff by file, changed
    the sentences about what differs from the photograph.

    Events: `edit` {number}; `play` {number, instant}, with the instant of a failed check or without; `arrange_goal`
    {number} to drag the objects of its end and `use_as_goal` {number} to make that the goal; `close_replay`; `compare`
    {a, b} or {a, seed} and `pin` {number}, each null to end it; `autoplay` {on} to play rounds as they are judged;
    `remedy` {number, kind, instruction} to try what may work instead; `chart` {on} to plot all rounds.
    """

    folder, event_names = (
        "round_timeline",
        (
            "edit", "play", "arrange_goal", "use_as_goal", "close_replay", "compare", "pin", "autoplay", "remedy",
            "chart",
        ),
    )  # fmt: skip
    reply_names = ("edit",)
    patterns = ("code", "fault", "form_field", "spinner", "tabs")


class ConditionTable(Component):
    """Value: {studies: [{name, title, success: {successes, count, low, high}, factors, failures: [{id, reward, reason,
    values}]}], watched: {study, id} or null}. Event: `watch` {study, id}, or {} to end it.
    """

    folder, event_names = "condition_table", ("watch",)
    patterns = ("section_title",)


class Results(Component):
    """Value: {solved, doubts, sentence, seeds: [{seed, reward, success, crash, why}], robots: [{name, title, note,
    chosen}], busy, video, failure: {video, seed, instant}, exports: [{name, address}], stages: [{stage, state,
    source}], decisions: [{at, by, text}], the newest first, token, shares}. `shares` says whether links to the project
    can be made. `doubts` are why the twin may not show the photograph, each "reason; cure".

    Requests are {token, kind, ...}, answered by {links: [{id, expires, by}]} or {error}: links; share {days}, answered
    by the link's {token} too; revoke {id}. Event: `solve` {robot}.
    """

    folder, event_names = "results", ("solve",)
    patterns = ("fault", "section_title", "spinner")
