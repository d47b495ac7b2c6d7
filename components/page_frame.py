"""The frame around the steps: top bar, object list, inspector, status bar, gallery and frame picker."""

from components.component import Component


class TopBar(Component):
    """Value: {project, reached, title, saved, decided, can_undo, can_redo, undo, redo, editor,
    services: [{what, name, note, live}]}.

    project is null in the gallery; `reached` is the name of the furthest step; `decided` counts the recorded decisions,
    undos included. `editor` is the login of the person who edits. Events: `home`, `undo`, `redo`, `take_over`.
    """

    folder, event_names = "top_bar", ("home", "undo", "redo", "take_over")
    patterns = ("spinner",)


class Widgets(Component):
    """Draws nothing: sends for what Gradio's own components show, once the page's channel says that it changed.

    Value: {shown, ask}, number of the newest change that was set, and of the event that it answers. Events {shown, ask,
    all}: `refresh`, and in another language than English `translate`, which also sets texts.
    """

    folder, event_names = "widgets", ("refresh", "translate")
    reply_names = event_names


class ObjectList(Component):
    """Value: {token, objects: [{id, name, words, colour, is_object, is_brought, caption, mark, confidence: {score,
    level, about, reason}}], waiting}.

    `name` is the object's id for the viewer, `words` what it is called; one that `is_brought` from the library is not
    on the photograph. A selection is made in the browser, at once for all components.
    """

    folder = "object_list"
    patterns = ("form_field", "list_row")


class Inspector(Component):
    """Value: {objects: [...]} with everything known of each; the selected one is shown. Event: `decide`."""

    folder, event_names = "inspector", ("decide",)
    patterns = ("fault", "section_title")


class StatusBar(Component):
    """Value: {running, message, done, of, log: [{at, text, kind, by}], protection: {state, title, question}, guide:
    {step: {note, next, title}}, states: {step: text}, update}.

    A message of how work ended shows once the tabs say the `states` that belong to it.

    `protection` says whether programs are confined on this machine: `state` is "confined", "refused" or "agreed";
    `question` is asked before `agree`. Request: {drawn} when the page has drawn the update of that name.
    Events: `stop` to stop the work, `agree` to run programs unconfined.
    """

    folder, event_names = "status_bar", ("stop", "agree")
    patterns = ("progress", "spinner")


class Gallery(Component):
    """Value: {page_token, samples: [{name, title, about, image}], projects, total, all, offset, facets, unread,
    outdated, batches, stages, offline}: the samples, and the answers to the first requests "batches" and "find"; the
    latter is made again at once if `outdated`.

    Requests are {page_token, kind, ...}; the answer has "error" if one failed. Kinds: find {words, state, verdict, tag,
    group, sort, descending, offset, limit, refresh}, answered by a page of `projects`: [{name, title, about, when, at,
    image, state, stages, steps, objects, confidence, matched, task, solved_by, seconds, verdict, reason, by, tags}], by
    the numbers of projects found (`total`), of all, and by state, verdict and tag (`facets`), and of those still to be
    read (`unread`); queue {names} with words and filters, answered by the {names} to review in order; rename {names,
    title}; tag {names, add, remove}; judge {names, verdict, reason}; duplicate {names}; delete {names, confirmed}; undo
    {id}. Those that change projects are answered by {note, undo, problems}, or a {question} that `confirmed` answers.

    bin, restore {ids} and empty_bin {ids} by {deleted: [{id, title, at}], note};
    sets, make_set {names, name, test, seed, by_source, about, licence} and remove_set {name} by {sets, formats, note};
    export_set {name, format} and set_export {job} by {job, done, of, running, address, left_out, more}.
    batches, start_batch {files: [{path, name}], until, task}, and resume_batch, stop_batch and remove_batch {batch} by
    {batches: [{id, title, until, state, error, done, failed, of, share, seconds_left, frames: [{name, state, stage,
    seconds, message, project}], more}], stages: [{name, title}], offline}. A batch is "waiting", "running", "stopping",
    "stopped" or "ended"; `offline` if frames are not sent to the studio's model.

    Event: `open` {kind, name}.
    """

    folder, event_names = "gallery", ("open",)
    patterns = ("form_field", "progress", "select", "spinner", "tile")


class ReviewQueue(Component):
    """Value: {project, title, verdict, frame_reviews, objects: [{id, words, colour, score, review: {verdict, reason}}]}
    of the open project, its least sure object first; `frame_reviews` counts the reviews of the frame.

    The queue itself is in the browser, so that it outlives a reload; the gallery starts it.
    Events: `review` {project, id, verdict, reason}, `open` {kind, name}, `home`.
    """

    folder, event_names = "review_queue", ("review", "open", "home")
    patterns = ("form_field", "progress")


class FramePicker(Component):
    """Value: {token, name, kind, names, times} of a recording, to open one of its frames; a single one opens at once.

    Event: `open` {token, index}. Requests: {token, index, seq}, answered by {seq, image, facts} or {seq, error};
    {kind: "strip", token, have} by {every, pictures, ended, failure}: the small pictures of every n-th frame after the
    number that the page has, and whether these were all; with a failure if the recording breaks off.
    """

    folder, event_names = "frame_picker", ("open",)
