"""A pytest plugin, for files that name it in `pytest_plugins`: conda's channel, engines and environments."""

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
    """Return the local channel."""
    require_system(shutil.which("gcc"), "gcc")
    return conda_channel(shared_cache)


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield py-rattler's package cache."""
    directory = tmp_path_factory.mktemp("unpacked")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def new_environment(channel: CondaChannel, unpacked: Path) -> NewEnvironment:
    """Return a function that creates environments (`NewEnvironment`)."""
    return lambda prefix, *specs: rattler_environment(channel.url, prefix, specs, unpacked)


@pytest.fixture(scope="session")
def conda_environment(new_environment: NewEnvironment) -> NewEnvironment:
    """Return a function that creates environments as conda does, but with py-rattler, in a tenth of the time."""
    return lambda prefix, *specs: conda_made(new_environment(prefix, *specs), specs)


@pytest.fixture(scope="session", params=("vendored", "own") if os.environ.get("CONDA_EXE") else ("vendored",))
def conda(
    request: pytest.FixtureRequest, channel: CondaChannel, new_sandbox: NewSandbox, shared_cache: Path
) -> Iterator[RealConda]:
    """Yield a real conda with the local channel: version 24.7.1; if CONDA_EXE is set, that conda in a second run."""
    with new_sandbox() as sandbox:
        root = sandbox.root / "conda"
        root.mkdir()
        if request.param == "own":
            yield own_conda(root, sandbox.variables()).configured(channel.url)
        else:
            yield vendored_conda(shared_cache, root, sandbox.variables()).configured(channel.url)
