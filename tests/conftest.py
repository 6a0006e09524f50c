"""Shared fixtures, and pytest options that choose, order and time the tests."""

import json
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

import pytest
from support.index.settings import hide_further_settings, trust_variables
from support.machine.needs import requiring_programs
from support.sandbox import NewSandbox, Sandbox
from support.suite import extent
from support.suite.golden import REPOSITORY, Golden
from support.suite.run_counts import VARIABLE, write_counts

DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds per test file, as measured on two cores in the last recorded run of the full suite."""

LONG = 10.0
"""Seconds. In files that take longer, only tests marked `main` run without `--full`."""

BEFORE_ALL = ("test_journal_deaths.py", "test_journal_external_change_deaths.py", "test_journal_places.py")
"""These tests fork hundreds of times, which is cheap while the test process is small."""


_UNHIDDEN = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    suite = parser.getgroup("suite")
    suite.addoption("--full", action="store_true", help="also what takes long; without it, plain pytest leaves it out")
    suite.addoption("--every-row", action="store_true", help="every case of each sweep, for hours")
    suite.addoption(
        "--renew-golden", action="store_true", help="write texts that tests compare anew: tests/golden/, e2e/screens/"
    )
    suite.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name} anew")


def pytest_configure(config: pytest.Config) -> None:
    # Under nohup, or in a shell's background, pytest and its child processes would ignore one of these signals.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.update(trust_variables())
    config.stash[_UNHIDDEN] = hide_further_settings()
    config.addinivalue_line("markers", "main: runs without --full, however long its file takes")
    config.addinivalue_line("markers", "slow: builds a wheel of its own, so it runs with --full alone")
    config.pluginmanager.register(_Durations(config))
    extent.full, extent.every_row = config.getoption("--full"), config.getoption("--every-row")
    extent.renews_golden = config.getoption("--renew-golden")


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [line] if (line := config.stash[_UNHIDDEN]) else []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    with requiring_programs():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with requiring_programs():
        yield


class _Durations:
    """Runs the slowest files first, leaves out long ones, and reports slow tests and left-out files at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._before: dict[str, float] = json.loads(DURATIONS.read_text("utf-8"))
        # A file that is named on the command line always runs; only a run of the whole suite is shortened.
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        self._is_short = not (named or config.getoption("--full"))
        self._records = config.getoption("--record-durations")
        self._files: defaultdict[str, float] = defaultdict(float)
        self._tests: defaultdict[str, float] = defaultdict(float)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Skip the import of long files that contain no test marked `main`."""
        is_long = self._is_short and self._before.get(collection_path.name, 0.0) > LONG
        return True if is_long and "pytest.mark.main" not in collection_path.read_text("utf-8") else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Sort the longest files first, so that none of them still runs after the other workers have finished."""
        config.hook.pytest_deselected(items=[item for item in items if self._is_left_out(item)])
        kept = [item for item in items if not self._is_left_out(item)]
        kept.sort(key=lambda item: (item.path.name not in BEFORE_ALL, -self._before.get(item.path.name, 0.0)))
        items[:] = kept

    def _is_left_out(self, item: pytest.Item) -> bool:
        is_long = self._before.get(item.path.name, 0.0) > LONG or item.get_closest_marker("slow") is not None
        return self._is_short and is_long and item.get_closest_marker("main") is None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the duration of a test phase (setup, call, teardown) to its file and its test."""
        path, _, name = report.nodeid.partition("::")
        self._files[PurePath(path).name] += report.duration
        self._tests[f"{path}::{name.partition('[')[0]}"] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report the ten slowest tests and the files that were left out."""
        long = {name: seconds for name, seconds in self._before.items() if seconds > LONG}
        slowest = sorted(((seconds, test) for test, seconds in self._tests.items() if seconds > 1), reverse=True)[:10]
        if slowest:
            terminalreporter.section("slowest tests, with what was prepared for them")
        for seconds, test in slowest:
            terminalreporter.line(f"{seconds:7.1f} s  {test}")
        if self._is_short and long:
            terminalreporter.section("left out, as they take long; they run with --full")
            terminalreporter.line(
                f"most tests of {len(long)} files, {sum(long.values()) / 60:.0f} minutes of one core: "
                f"{', '.join(sorted(long))}; and each that is marked slow"
            )
        counts = os.environ.get(VARIABLE)
        if counts and not hasattr(self._config, "workerinput"):  # under xdist, only the controller counts
            write_counts({kind: len(found) for kind, found in terminalreporter.stats.items() if kind}, Path(counts))
        if self._records:
            recorded = {name: round(seconds, 1) for name, seconds in sorted(self._files.items()) if seconds >= 1}
            DURATIONS.write_text(json.dumps(recorded, indent=1) + "\n", "utf-8")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield one cache of fastinstall for all tests: FASTINSTALL_TEST_CACHE, or a directory removed at the end."""
    lasting = os.environ.get("FASTINSTALL_TEST_CACHE")
    if lasting:
        yield Path(lasting)
        return
    cache = tmp_path_factory.mktemp("cache")
    yield cache
    shutil.rmtree(cache)


@pytest.fixture(scope="session")
def new_sandbox(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> NewSandbox:
    """Return a factory of sandboxes, for fixtures with a wider scope than one test."""
    downloads = tmp_path_factory.mktemp("downloads")

    @contextmanager
    def make() -> Iterator[Sandbox]:
        root = tmp_path_factory.mktemp("sandbox")
        yield Sandbox(root=root, cache=shared_cache, downloads=downloads)
        shutil.rmtree(root)

    return make


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Golden]:
    """Yield a function that compares output with a golden file, or rewrites the file: see `support.suite.golden`."""
    stand_ins = {str(tmp_path): "TMP", str(REPOSITORY): "REPOSITORY"}
    texts = Golden(request.path, request.node.name, stand_ins, renews=extent.renews_golden)
    yield texts
    texts.finish()


@pytest.fixture
def sandbox(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """Yield a sandbox that is empty except for the shared caches."""
    with new_sandbox() as made:
        yield made
