"""Shared fixtures, and the mark of the directory of shared test values, which pytest puts on the import path."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sandbox import NewSandbox, Sandbox

FIRST = (
    *("test_journal_deaths.py", "test_journal_stretch_deaths.py", "test_journal_places.py", "test_fault_errors.py"),
    *("test_fault_signals.py", "test_power_loss.py", "test_power_loss_elsewhere.py", "test_power_loss_setup.py"),
    *("test_kill_states.py", "test_kill_deaths.py", "test_fault_commands.py", "test_build_pillow.py"),
    *("test_damage_catalogue.py", "test_proof_pillow.py", "test_proof_rejects.py", "test_isa_matrix.py"),
    *("test_e2e_setup.py", "test_swap_matrix_projects.py", "test_swap_matrix.py", "test_e2e_conda.py"),
    *("test_docs_pages.py", "test_ansible_role.py", "test_e2e_failures.py", "test_e2e_artefacts.py", "test_wizard.py"),
    *("test_wizard_screens.py", "test_conda_engines.py", "test_guard_installers.py", "test_e2e_conda_modes.py"),
    *("test_e2e_conda_refusals.py", "test_e2e_bad_input.py", "test_e2e_rollback.py", "test_e2e_swapped.py"),
    *("test_ansible_plugins.py", "test_repair.py", "test_silence.py", "test_conda_plugin.py", "test_e2e_merge.py"),
)
"""Files that fork hundreds of times, while the process is small, and then those that take long, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


def pytest_configure(config: pytest.Config) -> None:
    # Who starts the tests in the background, or by nohup, has them ignore these, and all that they start likewise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.addinivalue_line("markers", 'slow: builds a wheel of its own; left out with -m "not slow"')


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """fastinstall's cache for all tests: FASTINSTALL_TEST_CACHE, which outlives them, or a temporary one."""
    lasting = os.environ.get("FASTINSTALL_TEST_CACHE")
    if lasting:
        yield Path(lasting)
        return
    cache = tmp_path_factory.mktemp("cache")
    yield cache
    shutil.rmtree(cache)


@pytest.fixture(scope="session")
def new_sandbox(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> NewSandbox:
    """Makes sandboxes for fixtures that outlive a test."""
    downloads = tmp_path_factory.mktemp("downloads")

    @contextmanager
    def make() -> Iterator[Sandbox]:
        root = tmp_path_factory.mktemp("sandbox")
        yield Sandbox(root=root, cache=shared_cache, downloads=downloads)
        shutil.rmtree(root)

    return make


@pytest.fixture
def sandbox(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """A fresh machine, but for the shared caches."""
    with new_sandbox() as made:
        yield made
