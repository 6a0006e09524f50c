"""What the guard costs, measured in the environment that it guards."""

import sys
from pathlib import Path

import pytest
from support.environments.guarded import Guarded, make_environment, make_guarded

from fastinstall.guard.startup_cost import measure_cost


@pytest.fixture
def own(tmp_path: Path) -> Guarded:
    return make_guarded(tmp_path, Path(sys.executable))


def test_it_is_a_small_part_of_a_start(own: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTINSTALL_GUARD", "0")
    cost = measure_cost(own.python, own.site, starts=6)
    assert cost is not None
    assert cost.starts == 6
    assert 20 < cost.median_us < cost.start_ms * 1000 / 3


def test_where_there_is_no_guard_or_no_python_nothing_is_measured(own: Guarded, tmp_path: Path) -> None:
    bare = make_environment(tmp_path, Path(sys.executable), name="bare")
    assert measure_cost(bare.python, bare.site, starts=2) is None
    assert measure_cost(tmp_path / "no" / "python", own.site, starts=2) is None
    (own.site / "_fastinstall_guard" / "__init__.py").write_text("")
    assert measure_cost(own.python, own.site, starts=2) is None
