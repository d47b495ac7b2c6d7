"""What the Models panel shows, and the requests of the panel and of the trace view."""

from collections.abc import Callable
from typing import Any

from pipeline.models.trace.call_log import Call
from studio.accounts.roles import Role
from studio.models import call_actions, call_records, prompt_overrides
from studio.models.cost_estimates import renewal_choices, renewed_projects
from studio.models.model_choice import ModelSelection
from studio.models.sending import sending_record
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t, translated
from studio.web.endpoints import Endpoint


def panel_endpoint(sessions: SessionRegistry, selection: ModelSelection) -> Endpoint:
    """Return the endpoint of ModelsPanel."""
    context = selection.page_token.context(sessions, selection)
    return Endpoint(PANEL_HANDLERS, context, format_error=call_records.single_line, roles=PANEL_ROLES)


def trace_endpoint(sessions: SessionRegistry, selection: ModelSelection) -> Endpoint:
    """Return the endpoint of TraceView."""
    context = session_context(sessions, selection)
    return Endpoint(TRACE_HANDLERS, context, format_error=call_records.single_line, roles=TRACE_ROLES)


def panel_record(session: Session | None, selection: ModelSelection) -> dict[str, Any]:
    """Return ModelsPanel's value."""
    record: dict[str, Any] = {
        "page_token": selection.page_token.value,
        "token": "",
        "settings": selection.to_json(),
        "key_source": selection.key_source(),
        "override_note": selection.override_note(),
        "problem": selection.problem,
        "prompts": prompt_overrides.list_prompts(selection.prompts),
    }
    if session is None:
        return record
    has_trace = session.calls.path.exists()
    return record | {
        "token": session.token,
        "cost_summary": call_records.cost_summary(session),
        "record": f"project/{session.token}/record.jsonl" if has_trace else "",
        "answered_by_another": session.is_answered_by_another_model,
        "project_record": selection.trace_name(session.calls.path) if has_trace else "",
        "sending": sending_record(session),
    }


# ---------------------------------------------------------------------- the panel


def _use(sessions: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    session = sessions.get(request.get("token")) if request.get("token") else None
    renewed = renewed_projects(session, sessions.all_open, request.get("scope"))
    selection.use(request.get("settings"), request.get("key"), [one.token for one in renewed])
    if not renewed:
        return {"done": t("In use for what is asked from now on. All projects stay as they are.")}
    return {"done": t("In use. It is asked about {n} project.|In use. It is asked about {n} projects.", n=len(renewed))}


def _choices(sessions: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    session, settings = sessions.get(request.get("token")), selection.parse(request.get("settings"))
    return {"choices": renewal_choices(session, sessions.all_open, settings)}


def _forget_key(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    selection.forget_key()
    return {"done": t("The key is forgotten.")}


def _estimate(sessions: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    session = sessions.get(request.get("token"))
    return {"sentences": call_actions.cost_estimates(session, selection.parse(request.get("settings")))}


def _test(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    return {"test": selection.test(request.get("settings"), request.get("key"))}


def _findings(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    results, running = selection.test_results(request.get("test"))
    return {
        "findings": [
            {"what": result.check, "ok": result.ok, "sentence": translated(call_records.single_line(result.message))}
            for result in results
        ],
        "testing": running,
    }


def _prompt(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    return prompt_overrides.prompt_record(selection.prompts, request.get("name"))


def _save_prompt(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    return prompt_overrides.save_prompt(selection.prompts, request.get("name"), request.get("text"))


def _reset_prompt(_: SessionRegistry, selection: ModelSelection, request: dict) -> dict:
    return prompt_overrides.reset_prompt(selection.prompts, request.get("name"))


PANEL_HANDLERS: dict[str, Callable[[SessionRegistry, ModelSelection, dict], dict]] = {
    "use": _use,
    "choices": _choices,
    "forget key": _forget_key,
    "estimate": _estimate,
    "test": _test,
    "findings": _findings,
    "prompt": _prompt,
    "save prompt": _save_prompt,
    "reset prompt": _reset_prompt,
}


# ---------------------------------------------------------------------- the trace view


def _call(session: Session, request: dict) -> Call:
    return call_records.find_call(session, request.get("id"))


def _detail(session: Session, _: ModelSelection, request: dict) -> dict:
    call = _call(session, request)
    return call_records.call_detail(session, call) | {"remedies": call_actions.remedies(session, call)}


def _snippet(session: Session, selection: ModelSelection, request: dict) -> dict:
    return {"text": call_records.call_program(session, _call(session, request), selection.settings.base_url)}


def _retry(session: Session, _: ModelSelection, request: dict) -> dict:
    call_actions.ask_again(session, _call(session, request), str(request.get("text", "")))
    return {}


TRACE_HANDLERS: dict[str, Callable[[Session, ModelSelection, dict], dict]] = {
    "call": _detail,
    "live": lambda session, _, request: call_actions.streamed_text(session, _call(session, request)),
    "snippet": _snippet,
    "cancel": lambda session, _, request: call_actions.cancel(session, _call(session, request)),
    "retry": _retry,
    "compare": lambda session, _, request: call_records.compare_calls(session, request.get("ids")),
}

PANEL_ROLES: dict[str, Role] = {
    **dict.fromkeys(("findings", "prompt"), Role.LOOK),
    **dict.fromkeys(("use", "forget key", "test", "save prompt", "reset prompt"), Role.ADMINISTER),
}
"""Roles that these kinds need; the others need Role.WORK. The model, its key and its prompts hold for everyone."""
TRACE_ROLES: dict[str, Role] = dict.fromkeys(("call", "live", "snippet", "compare"), Role.VISIT)
