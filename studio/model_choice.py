"""Which model answers: chosen in the app, tried there, and taken by every open project at once.

A key that was typed lives in this object and nowhere else. It goes to the server it was typed for and to no other, so
that nobody who can open the page can have it sent elsewhere; the same holds for OPENAI_API_KEY.
"""

import os
import secrets
import shutil
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

from pipeline.errors import StudioError
from pipeline.models import ModelError, choose
from pipeline.models.probe import Finding, probe
from pipeline.models.settings import ENVIRONMENT, ModelSettings, from_words, save
from studio.notices import sentence
from studio.session import SessionError
from studio.sessions import Sessions

NO_KEY = "none"
"""What a server is sent that no key was given for."""


class ModelChoice:
    """The settings in use and the keys. May be called from any thread."""

    def __init__(self, sessions: Sessions, workspace: Path):
        self.door = secrets.token_urlsafe(24)
        """Given to the page when it loads; what asks without it is not our page."""
        self.problem = ""
        """Why what the workspace keeps cannot be used; empty where it can."""
        self._sessions, self._workspace = sessions, workspace
        self._own_address = os.environ.get("GRS_BASE_URL", "")
        self._typed: dict[str, str] = {}
        self._test: Test | None = None
        self._lock = threading.Lock()
        self.settings = ModelSettings()
        try:
            self.settings = ModelSettings.from_environment(workspace)
            choose(self.settings, self._key(self.settings, {}), self.prompts)
        except StudioError as error:
            self.problem = f"{sentence(error)} Until then written rules answer."

    @property
    def prompts(self) -> Path:
        """Folder of the user's own prompts."""
        return self._workspace / "prompts"

    # ------------------------------------------------------------------ choosing

    def use(self, words: object, key: object = None, agreed: object = "") -> None:
        """From now on this model answers, in every project. Raises ModelError where it cannot be opened.

        `agreed` is the token of the project whose person was told what that takes.
        """
        settings = self._with_record(self.read(words))
        typed = self._with(settings, key)
        model = choose(settings, self._key(settings, typed), self.prompts)
        with self._lock:
            self._typed, self.settings, self.problem = typed, settings, ""
        save(settings, self._workspace)
        self._sessions.use(replace(self._sessions.services, model=model), str(agreed))

    def forget_key(self) -> None:
        """Drops every key that was typed; the model in use is opened anew without."""
        with self._lock:
            self._typed = {}
        self.use(asdict(self.settings))

    def key_from(self) -> str:
        """Where the key of the settings in use is from: "typed", "environment", or "" for none."""
        if self.settings.base_url in self._typed:
            return "typed"
        return "environment" if self._key(self.settings, {}) not in ("", NO_KEY) else ""

    def overruled(self) -> str:
        """Which variables win over what is chosen here at the next start; empty where none does."""
        names = [name for name in ENVIRONMENT if os.environ.get(name)]
        win = "is set and wins" if len(names) == 1 else "are set and win"
        return f"{', '.join(names)} {win} at the next start." if names else ""

    def read(self, words: object) -> ModelSettings:
        if not isinstance(words, Mapping):
            raise SessionError("The settings cannot be read; reload the page.")
        return from_words({str(name): value for name, value in words.items() if value is not None and value != ""})

    def _with_record(self, settings: ModelSettings) -> ModelSettings:
        """With the record that is replayed as a file of this workspace: its name in it, or what was just uploaded."""
        if settings.service != "replay":
            return settings
        if settings.trace and settings.trace in (self.settings.trace, self.record(Path(self.settings.trace))):
            return replace(settings, trace=self.settings.trace)
        path = (self._workspace / settings.trace).resolve()
        uploads = Path(get_upload_folder()).resolve()
        if settings.trace and path.is_relative_to(uploads) and path.is_file():
            kept = self._workspace / "records" / path.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, kept)
            path = kept.resolve()
        if not settings.trace or not path.is_relative_to(self._workspace.resolve()) or not path.is_file():
            raise ModelError("There is no such record; choose this project's, or the trace.jsonl of a run.")
        return replace(settings, trace=str(path))

    def shown(self) -> dict[str, Any]:
        """The settings as the page gets them: a record by its name in the workspace, and never a key."""
        said = asdict(self.settings)
        return said | {"trace": self.settings.trace and self.record(Path(self.settings.trace))}

    def record(self, path: Path) -> str:
        """What the page calls a record: its place in the workspace, or only its name where it lies elsewhere."""
        inside = path.resolve().is_relative_to(self._workspace.resolve())
        return str(path.resolve().relative_to(self._workspace.resolve())) if inside else path.name

    def _with(self, settings: ModelSettings, key: object) -> dict[str, str]:
        """The typed keys, this one among them."""
        return self._typed | ({settings.base_url: key.strip()} if isinstance(key, str) and key.strip() else {})

    def _key(self, settings: ModelSettings, typed: Mapping[str, str]) -> str:
        """The key for that address; empty where nothing can be asked without one."""
        known = os.environ.get("OPENAI_API_KEY", "")
        own = known if settings.base_url == self._own_address else ""
        return typed.get(settings.base_url) or own or (NO_KEY if settings.base_url or known else "")

    # ------------------------------------------------------------------ trying

    def test(self, words: object, key: object = None) -> str:
        """Begins to try what a server can do, in the place of a test that runs; returns the test's name."""
        settings = self.read(words)
        self.stop_test()
        self._test = Test(settings, self._key(settings, self._with(settings, key)))
        return self._test.name

    def tested(self, name: object) -> tuple[list[Finding], bool]:
        """What was found so far, and whether more is to come. Raises SessionError."""
        test = self._test
        if test is None or test.name != name:
            raise SessionError("Another test has begun meanwhile; press Test connection again.")
        return list(test.findings), test.running

    def stop_test(self) -> None:
        if self._test:
            self._test.stop()


class Test:
    """One test of a connection, in a thread of its own."""

    def __init__(self, settings: ModelSettings, key: str):
        self.name, self.findings, self.running = secrets.token_hex(4), list[Finding](), True
        self._stop = threading.Event()
        threading.Thread(target=self._run, args=(settings, key), daemon=True, name="probe").start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self, settings: ModelSettings, key: str) -> None:
        try:
            for model in dict.fromkeys(filter(None, (settings.model, settings.code_model))) or ("",):
                self._try(settings, key, model)
        except Exception as error:
            self.findings.append(Finding("test", False, sentence(error)))
        finally:
            self.running = False

    def _try(self, settings: ModelSettings, key: str, model: str) -> None:
        with closing(probe(settings, key, model)) as found:  # type: ignore[type-var]
            for finding in found:
                if self._stop.is_set():
                    return
                self.findings.append(finding)
