"""Imports in this process, for tests of what is imported: that they are confined has tests of its own."""

import json

import pytest

from pipeline.assets.importers import import_worker, isolated_import


@pytest.fixture
def imported_here(monkeypatch):
    """Let this process do the work of an import's confined process, which takes a second to start."""

    def run(module, request, *_):
        assert module == isolated_import.MODULE
        for event in import_worker.events(request, lambda _: None):
            yield json.dumps(event).encode()

    monkeypatch.setattr(isolated_import, "run_worker", run)
