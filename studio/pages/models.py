"""The drawer over the six steps: which model answers, what it was asked, and the prompts it is asked with."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from components.models_panel import ModelsPanel
from components.trace_view import Failures, TraceView
from pipeline.errors import StudioError
from pipeline.models.calls import totals
from studio import asking, calls, own_prompts
from studio.doors import behind
from studio.model_choice import ModelChoice
from studio.notices import sentence
from studio.session import Session, SessionError
from studio.shell import Shell


def build(shell: Shell, choice: ModelChoice) -> None:
    with gr.Column(elem_id="models"):
        panel = ModelsPanel(lambda request: answer(shell, choice, request))
        trace = TraceView(lambda request: answered(shell, choice, request))
    shell.shows(panel, lambda session: shown(session, choice))
    shell.shows(trace, calls.shown)
    shell.told(trace.act, lambda session, told: asking.act(session, str(told.get("kind")), told.get("id")))
    shell.looks(trace.changed)
    shell.looks(panel.changed)


def build_failures(shell: Shell) -> None:
    failures = Failures()
    shell.shows(failures, asking.failures)
    shell.told(failures.act, lambda session, told: asking.act(session, str(told.get("kind")), told.get("id")))

    shell.told(failures.agree, lambda session, _: session.agree())


def shown(session: Session | None, choice: ModelChoice) -> dict[str, Any]:
    said: dict[str, Any] = {
        "door": choice.door,
        "token": "",
        "settings": choice.shown(),
        "key_from": choice.key_from(),
        "overruled": choice.overruled(),
        "problem": choice.problem,
        "prompts": own_prompts.known(choice.prompts),
    }
    if session is None:
        return said
    recorded = session.calls.path.exists()
    return said | {
        "token": session.token,
        "spent": spent(session),
        "record": f"/project/{session.token}/record.jsonl" if recorded else "",
        "own_record": choice.record(session.calls.path) if recorded else "",
    }


def spent(session: Session) -> str:
    """What the project's calls came to, in a sentence."""
    sums = totals(call for call in session.calls.read() if not call.offline)
    if not sums.calls:
        return "No language model was asked yet."
    tokens = f"{sums.tokens.sum:,.0f} tokens" if sums.tokens.told else "tokens unknown"
    cost = f"${sums.cost.sum:.4f}" if sums.cost.told else "cost unknown"
    untold = f" ({sums.cost.untold} of unknown cost)" if sums.cost.told and sums.cost.untold else ""
    failed = f", {sums.failed} failed" if sums.failed else ""
    return f"{sums.calls} {'call' if sums.calls == 1 else 'calls'}{failed}, {tokens}, {cost}{untold}."


# ---------------------------------------------------------------------- outside Gradio's queue


def answer(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    """What the panel asks for; see ModelsPanel."""
    said = behind(choice.door, PANEL, request, shell, choice)
    return {"error": calls.line(said["error"])} if said.keys() == {"error"} else said


def answered(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    """What the trace view asks for; see TraceView."""
    try:
        session = shell.sessions.get(request.get("token"))
        kind = str(request.get("kind"))
        if kind == "compare":
            return calls.compared(session, request.get("ids"))
        call = calls.find(session, request.get("id"))
        match kind:
            case "call":
                return calls.detail(session, call) | {"remedies": asking.remedies(session, call)}
            case "live":
                return asking.arriving(session, call)
            case "snippet":
                return {"text": calls.runnable(session, call, choice.settings.base_url)}
            case "cancel":
                return asking.cancel(session, call)
            case "again":
                asking.again(session, call, str(request.get("text", "")))
                return {}
        raise SessionError("That cannot be asked here; reload the page.")
    except StudioError as error:
        return {"error": calls.line(sentence(error))}


def _use(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    choice.use(request.get("settings"), request.get("key"), request.get("token"))
    return {"done": "In use from now on, in every open project. What it makes differently is worked out anew."}


def _forget(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    choice.forget_key()
    return {"done": "The key is forgotten."}


def _estimate(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    session = shell.sessions.get(request.get("token"))
    return {"sentences": asking.estimates(session, choice.read(request.get("settings")))}


def _findings(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    found, testing = choice.tested(request.get("test"))
    return {
        "findings": [{"what": one.what, "ok": one.ok, "sentence": calls.line(one.sentence)} for one in found],
        "testing": testing,
    }


def _stop(shell: Shell, choice: ModelChoice, request: dict) -> dict:
    choice.stop_test()
    return {}


PANEL: dict[str, Callable[[Shell, ModelChoice, dict], dict]] = {
    "use": _use,
    "forget key": _forget,
    "estimate": _estimate,
    "test": lambda _, choice, request: {"test": choice.test(request.get("settings"), request.get("key"))},
    "findings": _findings,
    "stop test": _stop,
    "prompt": lambda _, choice, request: own_prompts.one(choice.prompts, request.get("name")),
    "keep prompt": lambda _, choice, request: own_prompts.keep(
        choice.prompts, request.get("name"), request.get("text")
    ),
    "our prompt": lambda _, choice, request: own_prompts.drop(choice.prompts, request.get("name")),
}
