"""The merge on real sources: on history it gives what was published, and onto the newest Pillow it leaves nothing over.

Needs a package index; the sdists are kept in FASTINSTALL_TEST_CACHE where that is set.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from needs import require_system

from fastinstall.cmerge.diagnostics import check_pairs, check_tree
from fastinstall.cmerge.documents import Kernels, TextOrigin
from fastinstall.cmerge.trees import Trees, merge_trees
from fastinstall.core.surroundings import recipes_directory
from fastinstall.observe.observation import load_recipe

Sdists = dict[str, Path]

PAIRS = (("11.3.0", "12.0.0"), ("11.3.0", "12.1.1"), ("12.1.1", "13.0.0"))
FILTER = "src/libImaging/Filter.c"
RESAMPLE = "src/libImaging/Resample.c"


def _backtest() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "backtest.py"
    spec = importlib.util.spec_from_file_location("backtest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["backtest"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


BACKTEST = _backtest()


@pytest.fixture(scope="module")
def sdists(shared_cache: Path) -> Sdists:
    found: Sdists = BACKTEST.fetched(PAIRS, shared_cache)
    return found


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("sources")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    """The rules of the shipped recipe."""
    found = load_recipe("pillow-merged", (recipes_directory(),)).kernels
    assert found is not None
    return found


@pytest.fixture(scope="module")
def newest(sdists: Sdists, scratch: Path, kernels: Kernels) -> Path:
    """Pillow 13.0.0 with the kernels of the fork of 12.1.1, by the rules of the shipped recipe."""
    target = scratch / "newest"
    shutil.copytree(upstream(sdists, scratch), target)
    base, fork = (BACKTEST.unpacked(name, "12.1.1", sdists, scratch) for name in (BACKTEST.UPSTREAM, BACKTEST.FORK))
    report = merge_trees(Trees(base=base, kernels=fork, target=target), kernels)
    assert [item for item in report.items if item.origin is TextOrigin.CONFLICT] == []
    assert report.not_accelerated == ()
    assert report.unused_rules == ()
    assert f"{FILTER}: ImagingFilter" in report.guards
    return target


def upstream(sdists: Sdists, scratch: Path) -> Path:
    found: Path = BACKTEST.unpacked(BACKTEST.UPSTREAM, "13.0.0", sdists, scratch)
    return found


@pytest.mark.parametrize("pair", PAIRS[:2], ids="-".join)
def test_the_merge_gives_the_fork_that_was_published(pair: tuple[str, str], sdists: Sdists, scratch: Path) -> None:
    outcome = BACKTEST.back_test(pair, sdists, scratch)
    assert (outcome.differing, outcome.problems, outcome.conflicts) == ((), (), 0)
    assert outcome.identical == outcome.compared >= 15


def test_the_merge_onto_13_0_0_passes_its_static_checks(newest: Path, sdists: Sdists, scratch: Path) -> None:
    changed = BACKTEST.changed_files(upstream(sdists, scratch), newest)
    assert {FILTER, RESAMPLE} < set(changed)
    assert check_tree(upstream(sdists, scratch), newest, changed) == ()


@pytest.mark.parametrize("lost", ["MUTEX_LOCK", "MUTEX_UNLOCK", "ImagingSectionLeave"])
def test_a_lock_that_is_dropped_from_a_real_merge_is_refused(
    lost: str, newest: Path, sdists: Sdists, scratch: Path
) -> None:
    before, after = ((tree / FILTER).read_text(encoding="utf-8") for tree in (upstream(sdists, scratch), newest))
    assert check_pairs(before, after, FILTER) == ()
    kept, name, merged = after.partition("ImagingFilter__simd")
    (problem,) = check_pairs(before, kept + name + re.sub(rf"\b{lost}\b", "", merged, count=1), FILTER)
    assert problem.startswith(f"{FILTER}: ImagingFilter__simd: ")
    assert f"{lost} 0 times (upstream 1)" in problem


def test_a_line_merge_that_takes_the_fork_s_side_blindly_is_refused(sdists: Sdists, scratch: Path) -> None:
    git = shutil.which("git")
    require_system(git, "git")
    ours = upstream(sdists, scratch) / FILTER
    base, fork = (BACKTEST.unpacked(name, "12.1.1", sdists, scratch) for name in (BACKTEST.UPSTREAM, BACKTEST.FORK))
    command = [git, "merge-file", "-p", "-q", "--theirs", ours, base / FILTER, fork / FILTER]
    blind = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    problems = check_pairs(ours.read_text(encoding="utf-8"), blind, FILTER)
    assert f"{FILTER}: ImagingFilter: MUTEX_LOCK 0 times (upstream 1), MUTEX_UNLOCK 1 times (upstream 1)" in problems
