"""What limits the loading of images, by the stages, the workers' rates, the page cache, and the target rate."""

from dataclasses import replace

import pytest
from support.bench.measurements import DISK, MACHINE, USUAL, WORKLOAD, baseline, rate, timing, verdict
from support.suite.golden import Golden

from fastinstall.bench.bottleneck import list_stage_costs
from fastinstall.bench.report import CandidateOutcome, LoadingLimit, Stage

IN_ONE_PIECE = {Stage.DECODE: 2.0, Stage.TENSOR: 0.2}
MANY = replace(WORKLOAD, files=100_000)
"""More than the memory holds."""


@pytest.mark.parametrize(
    ("slow", "bound"),
    [
        (Stage.READ, LoadingLimit.IO),
        (Stage.DECODE, LoadingLimit.DECODE),
        (Stage.CONVERT, LoadingLimit.RESIZE),
        (Stage.RESIZE, LoadingLimit.RESIZE),
        (Stage.CROP, LoadingLimit.RESIZE),
        (Stage.ARRAY, LoadingLimit.COPY),
        (Stage.TENSOR, LoadingLimit.COPY),
    ],
)
def test_the_slowest_stage_names_the_limit(slow: Stage, bound: LoadingLimit) -> None:
    assert verdict(baseline(measured=timing({**USUAL, slow: 9.0}))).bound is bound


def test_stages_of_a_group_count_together() -> None:
    stages = {**USUAL, Stage.CONVERT: 0.4, Stage.RESIZE: 0.5, Stage.CROP: 0.4}
    assert verdict(baseline(measured=timing(stages))).bound is LoadingLimit.RESIZE


def test_the_verdict_has_share_and_best_rate(golden: Golden) -> None:
    measured = baseline(rate(0, 480), rate(1, 470), rate(2, 890))
    found, costs = verdict(measured), list_stage_costs(measured, WORKLOAD, MACHINE)
    assert (found.bound, found.reached_rate) == (LoadingLimit.DECODE, 890)
    (decoding,) = [each.share for each in costs if each.name == "decode"]
    assert found.sentence.startswith(f"decoding takes {decoding:.0%} of the time")
    assert sum(each.share for each in costs) == pytest.approx(1)
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
    assert verdict(measured).bound is bound
    costs = list_stage_costs(measured, WORKLOAD, MACHINE)
    assert [each.ms for each in costs if each.name == "hand over"] == lost


def test_no_stage_may_stand_out(golden: Golden) -> None:
    found = verdict(baseline(measured=timing({**USUAL, Stage.RESIZE: 0.7})))
    assert found.bound is LoadingLimit.UNDETERMINED
    golden(found.sentence)


@pytest.mark.parametrize(("target", "bound"), [(890.0, LoadingLimit.FAST_ENOUGH), (890.1, LoadingLimit.DECODE)])
def test_the_target_is_reached_by_the_best_rate(target: float, bound: LoadingLimit) -> None:
    found = verdict(baseline(rate(0, 480), rate(2, 890)), target)
    assert (found.bound, found.target_rate) == (bound, target)
    assert verdict(baseline(), 400.0).bound is LoadingLimit.FAST_ENOUGH


def test_a_loader_in_one_piece_has_no_stages(golden: Golden) -> None:
    measured = baseline(rate(2, 800), measured=timing(IN_ONE_PIECE))
    found = verdict(measured)
    assert (found.bound, found.evidence) == (LoadingLimit.UNDETERMINED, ())
    golden(found.sentence)
    assert verdict(measured, 700.0).bound is LoadingLimit.FAST_ENOUGH


def test_without_a_measurement_there_is_no_limit() -> None:
    failed = replace(baseline(), timing=None, outcome=CandidateOutcome.CRASHED, reason="killed by SIGILL")
    found = verdict(failed, 100.0)
    assert found.bound is LoadingLimit.UNDETERMINED
    assert "killed by SIGILL" in found.sentence


def test_more_files_than_memory_come_from_disk(golden: Golden) -> None:
    measured = baseline(rate(2, 890), measured=timing(cold_read_ms=25.0))
    assert verdict(measured, 500.0).bound is LoadingLimit.FAST_ENOUGH
    found = verdict(measured, 500.0, MANY)
    assert found.bound is LoadingLimit.IO
    assert found.reached_rate == pytest.approx(2 * 1000 / (2000 / 890 + 24.9))
    first, *_ = list_stage_costs(measured, MANY, MACHINE)
    assert (first.name, first.ms) == ("read from disk", 25.0)
    golden("\n".join((found.sentence, *found.evidence)))
    unmeasured = verdict(baseline(rate(2, 1000)), None, MANY)
    golden("\n".join((unmeasured.sentence, *unmeasured.evidence)), "not measured")


def test_files_in_memory_never_come_from_disk() -> None:
    measured = baseline(measured=timing(cold_read_ms=25.0))
    for workload, machine in (
        (replace(MANY, filesystem=replace(DISK, memory=True)), MACHINE),
        (replace(MANY, filesystem=None), replace(MACHINE, memory_bytes=0)),
    ):
        assert verdict(measured, None, workload, machine).bound is LoadingLimit.DECODE


def test_a_network_filesystem_is_named() -> None:
    found = verdict(baseline(), workload=replace(WORKLOAD, filesystem=replace(DISK, type="nfs4", network=True)))
    assert "network filesystem (nfs4)" in " ".join(found.evidence)
