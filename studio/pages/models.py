"""The drawer over the six steps: the model in use, the calls it answered, and its prompts."""

import gradio as gr

from components.models_panel import ModelsPanel
from components.sending import Sending
from components.trace_view import Failures, TraceView
from studio.accounts.roles import Role
from studio.models import call_actions, call_records, model_requests, sending
from studio.models.model_choice import ModelSelection
from studio.pages.page_shell import Shell


def build(shell: Shell, selection: ModelSelection) -> None:
    with gr.Column(elem_id="models"):
        panel = ModelsPanel(answer=model_requests.panel_endpoint(shell.sessions, selection))
        trace = TraceView(answer=model_requests.trace_endpoint(shell.sessions, selection))
    shell.show(panel, lambda session: model_requests.panel_record(session, selection), Role.LOOK)
    shell.show(trace, call_records.trace_record)
    shell.on_message(trace.act, call_actions.apply_remedy)
    shell.refresh_on(trace.changed)
    shell.refresh_on(panel.changed)


def build_failures(shell: Shell) -> None:
    failures, consent = Failures(), Sending(answer=sending.sending_endpoint(shell.sessions))
    shell.show(failures, call_actions.failures_record)
    shell.on_message(failures.act, call_actions.apply_remedy)
    shell.show(consent, sending.sending_record)
    shell.on_message(consent.decide, sending.decide)
