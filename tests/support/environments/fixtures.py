"""A plugin of pytest for the files that name it in `pytest_plugins`, so that they share what is made once."""

from collections.abc import Iterator

import pytest
from support.environments.real import Environments
from support.sandbox import NewSandbox


@pytest.fixture(scope="session")
def environments(new_sandbox: NewSandbox) -> Iterator[Environments]:
    """Environments of every kind; each is made when the first test asks for it."""
    with new_sandbox() as sandbox:
        yield Environments(sandbox=sandbox)
