import pytest


@pytest.fixture(scope="session")
def project(tabletop_folder):
    return tabletop_folder
