"""A speed table is measured once for two builds on one CPU; when it is reused, its date is shown."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.values.builders import healthy_facts, recipe
from support.values.sessions import a_session

from fastinstall.index.offers import PackageIndex
from fastinstall.index.run import Run
from fastinstall.model.speed import SpeedRow, SpeedTable
from fastinstall.proof.timing import MeasuredPil, TimingEffort
from fastinstall.setup.steps import prove

STOCK, OURS = (
    MeasuredPil(label="stock", python=Path("/srv/python")),
    MeasuredPil(label="ours", python=Path("/srv/python")),
)


def _timed(
    before: MeasuredPil, after: MeasuredPil, _effort: TimingEffort, *, cpu: str, measured_at: str, **_conditions: object
) -> SpeedTable:
    """Return a fixed table, in place of processes that measure for seconds."""
    return SpeedTable(
        baseline=before.label,
        candidate=after.label,
        cpu=cpu,
        measured_at=measured_at,
        geomean=2.0,
        rows=(SpeedRow(operation="resize", before_ms=2.0, after_ms=1.0),),
    )


def test_a_table_has_its_time_and_place_and_is_marked_if_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "measure", _timed)
    session = replace(a_session(tmp_path), now=lambda: datetime(2026, 11, 21, 10, 3, tzinfo=UTC))
    run = Run(
        session=session,
        recipe=recipe(),
        index=PackageIndex(settings=pytest.fail, wheelhouse=None, offline=True, cache=tmp_path),
        cache=tmp_path,
        cpu=healthy_facts().cpu,
    )
    facts = healthy_facts()
    first = prove.measure_speed(STOCK, OURS, "two builds", facts, run)
    assert first is not None
    expected = (facts.interpreter.version, str(facts.environment.prefix), facts.cpu.name, "2026-11-21T10:03:00+00:00")
    assert (first.python, first.prefix, first.cpu, first.measured_at) == expected
    assert not first.reused
    elsewhere = replace(facts, environment=replace(facts.environment, prefix=Path("/srv/second")))
    later = replace(run, session=replace(session, now=lambda: datetime(2026, 11, 22, tzinfo=UTC)))
    again = prove.measure_speed(STOCK, OURS, "two builds", elsewhere, later)
    assert again == replace(first, reused=True)
