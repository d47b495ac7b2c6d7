"""The settings of the language model."""

from components.component import Component


class ModelsPanel(Component):
    """Value: {page_token, token, settings, key_source, override_note, cost_summary, record, project_record,
    sending: {state, address}, prompts: [{kind, title, changed}]}.

    The API key is never sent to the page; key_source says only where it is: "typed", "environment" or "".

    Requests are {page_token, token, kind, ...}: use {settings, key}, forget key, estimate {settings}, test {settings,
    key}, findings {test}, prompt {name}, save prompt {name, text}, reset prompt {name}. Event: `changed`
    when another model is in use.
    """

    folder, event_names = "models_panel", ("changed",)
    patterns = ("code", "fault", "form_field", "list_row", "section_title", "spinner", "tabs")
