"""The drawer over the six steps: the model in use, the calls it answered, and its prompts."""

from typing import Any

import gradio as gr

from components.models_panel import ModelsPanel
from components.sending import Sending
from components.trace_view import Failures, TraceView
from studio.accounts.roles import Role
from studio.models import call_actions, call_records, model_requests, sending
from studio.models.model_choice import ModelSelection
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.sessions.session import Session


def build(shell: Shell, selection: ModelSelection) -> None:
    with gr.Column(elem_id="models"):
        panel = ModelsPanel(answer=model_requests.panel_endpoint(shell.sessions, selection))
        trace = TraceView(answer=model_requests.trace_endpoint(shell.sessions, selection))

    def chosen(_: Session) -> Any:
        prompts = facts.file_stamps(selection.prompts)
        return selection.settings, selection.key_source(), selection.problem, prompts

    reads = [facts.results, facts.services, facts.calls, chosen]
    shell.show(panel, lambda session: model_requests.panel_record(session, selection), reads, Role.LOOK)
    shell.show(trace, call_records.trace_record, [facts.results, facts.calls])
    shell.on_message(trace.act, call_actions.apply_remedy)
    shell.refresh_on(trace.changed)
    shell.refresh_on(panel.changed)


def build_failures(shell: Shell) -> None:
    failures, consent = Failures(), Sending(answer=sending.sending_endpoint(shell.sessions))
    shell.show(failures, call_actions.failures_record, [facts.results, facts.services, facts.calls])
    shell.on_message(failures.act, call_actions.apply_remedy)
    shell.show(consent, sending.sending_record, [facts.results, facts.services])
    shell.on_message(consent.decide, sending.decide)
