"""A pytest plugin, for files that name it in `pytest_plugins`: environments that these files share."""

from collections.abc import Iterator

import pytest
from support.environments.real import Environments
from support.sandbox import NewSandbox


@pytest.fixture(scope="session")
def environments(new_sandbox: NewSandbox) -> Iterator[Environments]:
    """Yield environments of every kind; each is created at its first use."""
    with new_sandbox() as sandbox:
        yield Environments(sandbox=sandbox)
