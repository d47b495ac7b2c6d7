"""The frame around the steps: top bar, object list, inspector, status bar, gallery."""

from components.component import Component


class TopBar(Component):
    """{project, title, saved, can_undo, can_redo, undo, redo, services: [{what, name, note, live}]}.

    project is null in the gallery. It tells `seen` when a person comes back to the page.
    """

    folder, tells = "top_bar", ("home", "undo", "redo", "seen")


class ObjectList(Component):
    """{objects: [{id, name, colour, is_object, caption, mark}], waiting}.

    Selecting happens in the browser, at once for all components.
    """

    folder = "object_list"


class Inspector(Component):
    """{objects: [...]} with all that is known of each; shows the selected one and tells decisions about it."""

    folder, tells = "inspector", ("decide",)


class StatusBar(Component):
    """{running, message, done, of, log: [{at, text, kind}]}; tells `halt` when a person wants to stop."""

    folder, tells = "status_bar", ("halt",)


class Gallery(Component):
    """{samples: [{name, title, about, image}], projects: [{name, title, when, image, stages}]}."""

    folder, tells = "gallery", ("open",)
