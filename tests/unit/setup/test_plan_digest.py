"""The digest changes with what a plan depends on, and with nothing else."""

from typing import Any

import pytest
from support.values.builders import changed, healthy_facts

from fastinstall.setup.plan import compute_facts_digest


@pytest.mark.parametrize(
    "changes",
    [
        {"cpu": {"level": "x86-64-v2"}},
        {"cpu": {"flags": {"$append": ["avx512f"]}}},
        {"interpreter": {"version": "3.11.8"}},
        {"interpreter": {"has_headers": False}},
        {"distributions": []},
        {"stack": {"version": "13.0.0"}},
        {"stack": {"core": {"sha256": "00"}}},
        {"stack": {"owners": []}},
        {"stack": {"debris": ["~IL"]}},
        {"stack": {"dependants": []}},
        {"writable": False},
        {"frozen": "/srv/images/env/conda-meta/frozen"},
        {"interrupted": "20261121T100000Z-1a2b"},
        {"environment": {"prefix": "/srv/other"}},
    ],
)
def test_what_a_plan_depends_on_changes_the_digest(changes: dict[str, Any]) -> None:
    assert compute_facts_digest(changed(healthy_facts(), changes)) != compute_facts_digest(healthy_facts())


@pytest.mark.parametrize(
    "changes",
    [
        {"runtime": None},
        {"toolchain": None},
        {"active": {"$replace": {}}},
        {"tool_prefix": "/elsewhere"},
        {"guard": {"installed": False}},
        {"cpu": {"quota": 1.5, "cores": 1, "name": "another"}},
        {"interpreter": {"pip_version": None}},
        {"interpreter": {"shadows": [{"location": "/srv/x/PIL.py", "source": "PYTHONPATH", "entry": "/srv/x"}]}},
        {"stack": {"core": {"mtime_ns": 1}}},
        {"stack": {"core": {"libraries": {"0": {"inode": 7}}}}},
        {"stack": {"owners": {"0": {"installed_at": "2027-01-01T00:00:00+00:00"}}}},
        {"distributions": {"0": {"installer": "uv"}}},
    ],
)
def test_what_a_plan_does_not_depend_on_leaves_the_digest(changes: dict[str, Any]) -> None:
    assert changed(healthy_facts(), changes) != healthy_facts()
    assert compute_facts_digest(changed(healthy_facts(), changes)) == compute_facts_digest(healthy_facts())


def test_the_order_of_flags_means_nothing() -> None:
    facts = healthy_facts()
    backwards = changed(facts, {"cpu": {"flags": list(reversed(facts.cpu.flags))}})
    assert compute_facts_digest(backwards) == compute_facts_digest(facts)
