"""What tests of several rooms share. Being here puts this folder on the import path: `import tabletop`."""

from pathlib import Path

import pytest
import tabletop


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder with seven simple things on a table that stands askew in the world."""
    return tabletop.write(tmp_path_factory.mktemp("table"), turn=0.7)
