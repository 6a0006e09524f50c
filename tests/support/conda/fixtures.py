"""A plugin of pytest for the files that name it in `pytest_plugins`: conda's channel, engines and environments."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel, conda_channel
from support.conda.environments import NewEnvironment, conda_made, rattler_environment
from support.conda.real_conda import RealConda, own_conda, vendored_conda
from support.machine.needs import require_system
from support.sandbox import NewSandbox


@pytest.fixture(scope="session")
def channel(shared_cache: Path) -> CondaChannel:
    """The local channel."""
    require_system(shutil.which("gcc"), "gcc")
    return conda_channel(shared_cache)


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """py-rattler's cache of packages."""
    directory = tmp_path_factory.mktemp("unpacked")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def new_environment(channel: CondaChannel, unpacked: Path) -> NewEnvironment:
    """Makes environments."""
    return lambda prefix, *specs: rattler_environment(channel.url, prefix, specs, unpacked)


@pytest.fixture(scope="session")
def conda_environment(new_environment: NewEnvironment) -> NewEnvironment:
    """Makes environments as conda leaves them; it is py-rattler that makes them, in a tenth of conda's time."""
    return lambda prefix, *specs: conda_made(new_environment(prefix, *specs), specs)


@pytest.fixture(scope="session", params=("vendored", "own") if os.environ.get("CONDA_EXE") else ("vendored",))
def conda(
    request: pytest.FixtureRequest, channel: CondaChannel, new_sandbox: NewSandbox, shared_cache: Path
) -> Iterator[RealConda]:
    """A real conda that knows the local channel: 24.7.1, and the one that CONDA_EXE names, where it does."""
    with new_sandbox() as sandbox:
        root = sandbox.root / "conda"
        root.mkdir()
        if request.param == "own":
            yield own_conda(root, sandbox.variables()).configured(channel.url)
        else:
            yield vendored_conda(shared_cache, root, sandbox.variables()).configured(channel.url)
