"""One built app for the tests of the server."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from offline_studio import offline_services

from studio.server.access import Access


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The studio with a login, published by a proxy as lab.example."""
    from studio.server.app import build_app

    access = Access({"ada": "secret"}, ("lab.example",), behind_proxy=True)
    return build_app(offline_services(), Path(tmp_path_factory.mktemp("workspace")), access)
