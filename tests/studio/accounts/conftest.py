"""A studio with a person of each role, served over HTTP."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from people import studio_with_people

from studio.accounts import passwords


@pytest.fixture(scope="package", autouse=True)
def cheap_hashes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "COST", 1 << 10)
        yield


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The studio of a file's tests, with the projects "one" and "two"."""
    with studio_with_people(tmp_path_factory.mktemp("workspace")) as running:
        yield running
