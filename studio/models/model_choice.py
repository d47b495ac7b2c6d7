"""Selection of the language model: chosen and tested in the app, and used by every open project at once.

A key that a person typed is held only by this object. It is sent to the server it was typed for and to no other, so
that nobody who can open the page can have it sent elsewhere; the same holds for OPENAI_API_KEY.
"""

import shutil
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.models import ModelError, open_model
from pipeline.models.client.probe import ProbeResult, probe
from pipeline.models.settings import (
    ENVIRONMENT_VARIABLES,
    ModelSettings,
    parse_settings,
    save_settings,
    strip_credentials,
)
from pipeline.planner import PlannerModel
from pipeline.secret_environment import KEY_VARIABLE, environment_value
from studio.accounts.roles import Role
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t
from studio.web.endpoints import PageToken
from studio.web.errors import RequestError, error_message
from studio.web.jobs import Job, Listing
from studio.web.upload_folder import uploaded_file

NO_KEY = "none"
"""Sent to a server that no key was given for."""


class ModelSelection:
    """The settings in use and the typed keys. May be used from any thread."""

    def __init__(self, sessions: SessionRegistry, workspace: Path):
        self.page_token = PageToken()
        self.problem = ""
        """Why the saved settings cannot be used; "" if they can."""
        self._sessions, self._workspace = sessions, workspace
        self._environment_address = environment_value("GRS_BASE_URL")
        self._typed: dict[str, str] = {}
        self._test: Job[list[ProbeResult]] | None = None
        self._lock = threading.Lock()
        self.settings = ModelSettings()
        try:
            self.settings = ModelSettings.from_environment(workspace)
            open_model(self.settings, PlannerModel, self._key(self.settings, {}), self.prompts)
        except StudioError as error:
            self.problem = f"{error_message(error)} Until then offline rules answer."

    @property
    def prompts(self) -> Path:
        """Folder of the user's own prompts."""
        return self._workspace / "prompts"

    # ------------------------------------------------------------------ choosing

    def use(self, fields: object, key: object = None, renew: Collection[str] = ()) -> None:
        """Use this model in every project from now on. Raises ModelError if it cannot be opened.

        Args:
            fields: of the settings, as a browser sends them.
            key: typed for this server, if any.
            renew: tokens of the open projects that it is asked about at once; all others keep what they have.
        """
        settings = self._with_trace(self.parse(fields))
        typed = self._with(settings, key)
        model = open_model(settings, PlannerModel, self._key(settings, typed), self.prompts)
        with self._lock:
            self._typed, self.settings, self.problem = typed, settings, ""
        save_settings(settings, self._workspace)
        self._sessions.use(replace(self._sessions.services, model=model), renew)

    def forget_key(self) -> None:
        """Forget every typed key and open the model in use again without."""
        with self._lock:
            self._typed = {}
        self.use(asdict(self.settings))

    def key_source(self) -> str:
        """Return where the key in use comes from: "typed", "environment", or "" for none."""
        if self.settings.base_url in self._typed:
            return "typed"
        return "environment" if self._key(self.settings, {}) not in ("", NO_KEY) else ""

    def override_note(self) -> str:
        """Return which environment variables will override this selection at the next start; "" if none."""
        names = [name for name in ENVIRONMENT_VARIABLES if environment_value(name)]
        verb = "is set and applies" if len(names) == 1 else "are set and apply"
        return f"{', '.join(names)} {verb} again at the next start." if names else ""

    def parse(self, fields: object) -> ModelSettings:
        """Return the settings that a browser sent. Raises RequestError or ModelError."""
        if not isinstance(fields, Mapping):
            raise RequestError("The settings cannot be read; reload the page.")
        settings = parse_settings(
            {str(name): value for name, value in fields.items() if value is not None and value != ""}
        )
        own = self.settings.base_url  # the page has it without its user and password
        return replace(settings, base_url=own) if settings.base_url == strip_credentials(own) else settings

    def _with_trace(self, settings: ModelSettings) -> ModelSettings:
        """Return the settings with the path of the trace to replay, which is in the workspace or was just uploaded."""
        if settings.service != "replay":
            return settings
        if settings.trace and settings.trace in (self.settings.trace, self.trace_name(Path(self.settings.trace))):
            return replace(settings, trace=self.settings.trace)
        path = (self._workspace / settings.trace).resolve()
        if settings.trace and uploaded_file(path):
            copy = self._workspace / "records" / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            path = copy.resolve()
        readable = (self._sessions.workspace, self._workspace / "records")  # of this person, and uploaded ones
        inside = any(path.is_relative_to(folder.resolve()) for folder in readable)
        if not settings.trace or not inside or not path.is_file():
            raise ModelError("There is no such trace; choose this project's, or the trace.jsonl of a run.")
        return replace(settings, trace=str(path))

    def to_json(self) -> dict[str, Any]:
        """Return the settings for the page: a trace by its name in the workspace, and never a key or a password."""
        shown = {"base_url": strip_credentials(self.settings.base_url)}
        trace = self.settings.trace and self.trace_name(Path(self.settings.trace))
        return asdict(self.settings) | shown | {"trace": trace}

    def trace_name(self, path: Path) -> str:
        """Return the path of a trace relative to the workspace, or only its name if it is elsewhere."""
        inside = path.resolve().is_relative_to(self._workspace.resolve())
        return str(path.resolve().relative_to(self._workspace.resolve())) if inside else path.name

    def _with(self, settings: ModelSettings, key: object) -> dict[str, str]:
        """Return the typed keys with this one added."""
        return self._typed | ({settings.base_url: key.strip()} if isinstance(key, str) and key.strip() else {})

    def _key(self, settings: ModelSettings, typed: Mapping[str, str]) -> str:
        """Return the key for that address; "" if the server needs one and there is none."""
        environment = environment_value(KEY_VARIABLE)
        key = environment if settings.base_url == self._environment_address else ""
        return typed.get(settings.base_url) or key or (NO_KEY if settings.base_url or environment else "")

    # ------------------------------------------------------------------ testing

    def test(self, fields: object, key: object = None) -> str:
        """Start to test a server in place of a test that runs; return the test's name."""
        settings = self.parse(fields)
        key = self._key(settings, self._with(settings, key))
        self.stop_test()
        listing = Listing("test", lambda: t("Test of the model's server"), role=Role.ADMINISTER)
        self._test = Job[list[ProbeResult]]("probe", lambda job: _test(job, settings, key), listing=listing).start()
        return self._test.id

    def test_results(self, name: object) -> tuple[list[ProbeResult], bool]:
        """Return the results so far, and whether the test still runs. Raises RequestError."""
        test = self._test
        if test is None or test.id != name:
            raise RequestError("Another test has been started; press Test connection again.")
        return list(test.result or ()), test.is_active

    def stop_test(self) -> None:
        if self._test:
            self._test.stop()


def _test(job: Job[list[ProbeResult]], settings: ModelSettings, key: str) -> None:
    """Probe the models of the settings; the job's result is what was found so far."""
    job.result = results = list[ProbeResult]()
    try:
        for model in dict.fromkeys(filter(None, (settings.model, settings.code_model))) or ("",):
            with closing(probe(settings, key, model)) as found:  # type: ignore[type-var]
                for result in found:
                    if job.stopping:
                        return
                    results.append(result)
                    job.done = len(results)
    except Exception as error:
        results.append(ProbeResult("test", False, error_message(error)))
