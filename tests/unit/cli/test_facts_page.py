"""The facts about an environment as text."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import changed, empty_facts, healthy_facts, levelled_facts, minimal_facts, stock_facts

from fastinstall.cli.console import Page
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.model.facts import Facts

FULL = Page(verbose=True)
NARROW = Page(width=80)


@pytest.mark.parametrize("facts", [healthy_facts, levelled_facts, stock_facts, empty_facts, minimal_facts])
def test_facts_of_every_kind_of_environment_can_be_told(facts: Callable[[], Facts]) -> None:
    text = facts_text(facts(), NARROW)
    for row in ("environment", "python", "cpu", "level", "PIL", "guard"):
        assert re.search(rf"^{row} ", text, re.MULTILINE)


def test_the_copies_of_a_core_are_listed_with_their_problems(golden: Golden) -> None:
    changes = {"stack": {"core": {"levels": {"0": {"problem": "it is missing"}}}}, "cpu": {"tunables": "glibc.cpu.x"}}
    rows = [" ".join(line.split()) for line in facts_text(changed(levelled_facts(), changes), FULL).splitlines()]
    golden("\n".join(row for row in rows if row.startswith(("core for ", "running core ", "level "))))


@pytest.mark.parametrize(
    ("executed", "verdict"),
    [
        (None, None),
        (("popcnt", "avx2"), "the same 2 features"),
        (("popcnt", "avx2", "fma"), "also has fma, hidden by the kernel"),
        (("popcnt",), "lacks avx2, which the kernel shows"),
    ],
)
def test_what_cpuid_reports_is_compared_with_the_kernel(executed: tuple[str, ...] | None, verdict: str | None) -> None:
    facts = changed(healthy_facts(), {"cpu": {"flags": ["lm", "popcnt", "avx2", "sha_ni"], "executed": executed}})
    rows = [line for line in facts_text(facts, Page(width=500)).splitlines() if line.startswith("cpuid ")]
    assert len(rows) == (verdict is not None)
    assert (verdict or "") in "".join(rows)


def test_another_pil_that_programs_import_is_told(golden: Golden) -> None:
    shadow = {"location": "/srv/x/PIL/__init__.py", "source": "PYTHONPATH", "entry": "/srv/x", "version": "9.4.0"}
    text = facts_text(changed(healthy_facts(), {"interpreter": {"shadows": [shadow]}}), Page())
    golden(next(line for line in text.splitlines() if line.startswith("not used")))


def test_what_binaries_are_and_ask_for_is_told() -> None:
    traces = {"compilers": ["GCC: 12.2.0"], "glibc": "2.14", "stripped": True, "package": {"name": "pillow"}}
    rows = [" ".join(line.split()) for line in facts_text(_with_traces(traces), FULL).splitlines()]
    assert {"compiled by GCC: 12.2.0", "packaged as name pillow"} <= set(rows)
    (loads,) = [row for row in rows if row.startswith("loads with ")]
    assert "glibc 2.14" in loads
    assert "stripped" in loads
    assert any(row.startswith("jpeg libjpeg-turbo 3.") for row in rows)
    assert any(row.startswith("zlib ") for row in rows)
    assert any(row.startswith("CPU needed ") and "avx2" in row for row in rows)


def _with_traces(traces: dict[str, Any]) -> Facts:
    return changed(healthy_facts(), {"stack": {"core": {"build_traces": traces}}})
