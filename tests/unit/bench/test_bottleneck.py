"""What limits the loading of images, judged by stages, rates per number of workers, page cache and target rate."""

from dataclasses import replace

import pytest
from support.bench.measurements import DISK, MACHINE, USUAL, WORKLOAD, baseline, rate, verdict
from support.suite.golden import Golden

from fastinstall.bench.report import LoadingLimit

IN_ONE_PIECE = {"decode": 2.0, "tensor": 0.2}
MANY = replace(WORKLOAD, files=100_000)
"""More files than fit into memory."""


@pytest.mark.parametrize(
    ("slow", "bound"),
    [
        ("read", LoadingLimit.IO),
        ("decode", LoadingLimit.DECODE),
        ("convert", LoadingLimit.RESIZE),
        ("resize", LoadingLimit.RESIZE),
        ("crop", LoadingLimit.RESIZE),
        ("array", LoadingLimit.COPY),
        ("tensor", LoadingLimit.COPY),
    ],
)
def test_the_slowest_stage_names_the_limit(slow: str, bound: LoadingLimit) -> None:
    assert verdict(baseline(stages={**USUAL, slow: 9.0})).bound is bound


def test_stages_of_a_group_count_together() -> None:
    stages = {**USUAL, "convert": 0.4, "resize": 0.5, "crop": 0.4}
    assert verdict(baseline(stages=stages)).bound is LoadingLimit.RESIZE


def test_the_verdict_has_share_and_best_rate(golden: Golden) -> None:
    measured = baseline(rate(0, 480), rate(1, 470), rate(2, 890))
    found = verdict(measured)
    assert (found.bound, found.reached_rate) == (LoadingLimit.DECODE, 890)
    (decoding,) = [each.share for each in found.stages if each.name == "decode"]
    assert found.sentence.startswith(f"decoding takes {decoding:.0%} of the time")
    assert sum(each.share for each in found.stages) == pytest.approx(1)
    golden(found.sentence)


@pytest.mark.parametrize(
    ("rates", "bound", "lost"),
    [
        ((500, 250, 480), LoadingLimit.COPY, [2.0]),
        ((250, 250, 480), LoadingLimit.DECODE, []),
        ((500, 600, 700), LoadingLimit.DECODE, []),
    ],
)
def test_what_a_worker_adds_is_copying(rates: tuple[int, ...], bound: LoadingLimit, lost: list[float]) -> None:
    measured = baseline(*(rate(workers, each) for workers, each in enumerate(rates)))
    found = verdict(measured)
    assert found.bound is bound
    assert [each.ms for each in found.stages if each.name == "hand over"] == lost


def test_no_stage_may_stand_out(golden: Golden) -> None:
    found = verdict(baseline(stages={**USUAL, "resize": 0.7}))
    assert found.bound is LoadingLimit.UNDETERMINED
    golden(found.sentence)


@pytest.mark.parametrize(("target", "bound"), [(890.0, LoadingLimit.FAST_ENOUGH), (890.1, LoadingLimit.DECODE)])
def test_the_target_is_reached_by_the_best_rate(target: float, bound: LoadingLimit) -> None:
    found = verdict(baseline(rate(0, 480), rate(2, 890)), target)
    assert (found.bound, found.target_rate) == (bound, target)
    assert verdict(baseline(), 400.0).bound is LoadingLimit.FAST_ENOUGH


def test_a_loader_in_one_piece_has_no_stages(golden: Golden) -> None:
    measured = baseline(rate(2, 800), stages=IN_ONE_PIECE)
    found = verdict(measured)
    assert (found.bound, found.evidence) == (LoadingLimit.UNDETERMINED, ())
    golden(found.sentence)
    assert verdict(measured, 700.0).bound is LoadingLimit.FAST_ENOUGH


def test_more_files_than_memory_come_from_disk(golden: Golden) -> None:
    measured = baseline(rate(2, 890), cold_read_ms=25.0)
    assert verdict(measured, 500.0).bound is LoadingLimit.FAST_ENOUGH
    found = verdict(measured, 500.0, MANY)
    assert found.bound is LoadingLimit.IO
    assert found.reached_rate == pytest.approx(2 * 1000 / (2000 / 890 + 24.9))
    first = found.stages[0]
    assert (first.name, first.ms) == ("read from disk", 25.0)
    golden("\n".join((found.sentence, *found.evidence)))
    unmeasured = verdict(baseline(rate(2, 1000)), None, MANY)
    golden("\n".join((unmeasured.sentence, *unmeasured.evidence)), "not measured")


def test_files_in_memory_never_come_from_disk() -> None:
    measured = baseline(cold_read_ms=25.0)
    for workload, machine in (
        (replace(MANY, filesystem=replace(DISK, memory=True)), MACHINE),
        (replace(MANY, filesystem=None), replace(MACHINE, memory_bytes=0)),
    ):
        assert verdict(measured, None, workload, machine).bound is LoadingLimit.DECODE


def test_a_network_filesystem_is_named() -> None:
    found = verdict(baseline(), workload=replace(WORKLOAD, filesystem=replace(DISK, type="nfs4", network=True)))
    assert "network filesystem (nfs4)" in " ".join(found.evidence)
