"""What limits the loading of images: told from the stages, the workers' rates, the cache, and what is wanted."""

from dataclasses import replace

import pytest
from support.bench.measurements import DISK, MACHINE, USUAL, WORKLOAD, baseline, rate, timing, verdict
from support.suite.golden import Golden

from fastinstall.bench.bottleneck import list_stage_costs, reads_from_disk
from fastinstall.bench.report import CandidateOutcome, LoadingLimit, Stage

OF_ONE_PIECE = {Stage.DECODE: 2.0, Stage.TENSOR: 0.2}


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


def test_the_sentence_has_share_and_best_rate(golden: Golden) -> None:
    told = verdict(baseline(rate(0, 480), rate(1, 470), rate(2, 890)))
    assert (told.bound, told.reached_rate) == (LoadingLimit.DECODE, 890)
    golden(told.sentence)


def test_what_a_worker_takes_longer_than_the_process_itself_is_copying() -> None:
    measured = baseline(rate(0, 500), rate(1, 250), rate(2, 480))
    told, costs = verdict(measured), list_stage_costs(measured, WORKLOAD, MACHINE)
    assert told.bound is LoadingLimit.COPY
    assert [(each.name, each.ms) for each in costs if each.name == "hand over"] == [("hand over", 2.0)]


def test_a_machine_that_was_slower_when_workers_were_tried_makes_no_copying_of_that() -> None:
    measured = baseline(rate(0, 250), rate(1, 250), rate(2, 480))
    assert verdict(measured).bound is LoadingLimit.DECODE
    assert "hand over" not in [each.name for each in list_stage_costs(measured, WORKLOAD, MACHINE)]


def test_a_worker_that_is_faster_than_the_process_itself_loses_nothing() -> None:
    measured = baseline(rate(0, 500), rate(1, 600))
    assert verdict(measured).bound is LoadingLimit.DECODE
    assert "hand over" not in [each.name for each in list_stage_costs(measured, WORKLOAD, MACHINE)]


def test_a_bottleneck_is_named_only_where_its_share_stands_out(golden: Golden) -> None:
    told = verdict(baseline(measured=timing({**USUAL, Stage.RESIZE: 0.7})))
    assert told.bound is LoadingLimit.UNTOLD
    golden(told.sentence)


def test_the_verdict_and_the_stages_agree() -> None:
    measured = baseline(rate(0, 480), rate(1, 470), rate(2, 890))
    costs = list_stage_costs(measured, WORKLOAD, MACHINE)
    (decoding,) = [each.share for each in costs if each.name == "decode"]
    assert verdict(measured).sentence.startswith(f"decoding takes {decoding:.0%} of the time")
    assert sum(each.share for each in costs) == pytest.approx(1)


def test_the_stages_tell_what_reading_from_disk_takes_where_the_verdict_counts_that() -> None:
    many = replace(WORKLOAD, files=100_000)
    measured = baseline(measured=timing(cold_read_ms=9.0))
    first, *_ = list_stage_costs(measured, many, MACHINE)
    assert (first.name, first.ms) == ("read from disk", 9.0)
    assert verdict(measured, None, many).bound is LoadingLimit.IO


@pytest.mark.parametrize(("target", "bound"), [(890.0, LoadingLimit.FAST_ENOUGH), (890.1, LoadingLimit.DECODE)])
def test_it_is_fast_enough_where_the_best_rate_reaches_what_is_wanted(
    target: float, bound: LoadingLimit, golden: Golden
) -> None:
    told = verdict(baseline(rate(0, 480), rate(2, 890)), target)
    assert told.bound is bound
    assert told.target_rate == target
    golden(told.sentence)


def test_without_workers_the_process_itself_counts(golden: Golden) -> None:
    told = verdict(baseline(), 400.0)
    assert told.bound is LoadingLimit.FAST_ENOUGH
    golden(told.sentence)


def test_a_loader_of_one_piece_is_not_taken_apart(golden: Golden) -> None:
    told = verdict(baseline(rate(2, 800), measured=timing(OF_ONE_PIECE)))
    assert told.bound is LoadingLimit.UNTOLD
    assert told.evidence == ()
    golden(told.sentence)


def test_a_loader_of_one_piece_can_be_fast_enough() -> None:
    assert verdict(baseline(rate(2, 800), measured=timing(OF_ONE_PIECE)), 700.0).bound is LoadingLimit.FAST_ENOUGH


def test_what_could_not_be_measured_has_no_limit() -> None:
    failed = replace(baseline(), timing=None, outcome=CandidateOutcome.CRASHED, reason="killed by SIGILL")
    told = verdict(failed, 100.0)
    assert told.bound is LoadingLimit.UNTOLD
    assert "killed by SIGILL" in told.sentence


def test_files_that_stay_in_memory_are_read_from_there() -> None:
    base = baseline(rate(2, 890), measured=timing(cold_read_ms=25.0))
    told = verdict(base, 500.0)
    assert told.bound is LoadingLimit.FAST_ENOUGH
    assert told.reached_rate == 890


def test_files_that_are_more_than_the_memory_holds_come_from_disk(golden: Golden) -> None:
    many = replace(WORKLOAD, files=100_000)
    base = baseline(rate(2, 890), measured=timing(cold_read_ms=25.0))
    told = verdict(base, 500.0, many)
    assert told.bound is LoadingLimit.IO
    assert told.reached_rate == pytest.approx(2 * 1000 / (2000 / 890 + 24.9))
    golden("\n".join((told.sentence, *told.evidence)))


def test_rates_from_disk_are_inferred_from_a_cold_read() -> None:
    many = replace(WORKLOAD, files=100_000)
    told = verdict(baseline(rate(2, 1000), measured=timing(cold_read_ms=2.1)), None, many)
    assert told.reached_rate == pytest.approx(2 * 1000 / (2.0 + 2.0))


def test_it_is_said_where_reading_from_disk_could_not_be_measured(golden: Golden) -> None:
    told = verdict(baseline(rate(2, 1000)), None, replace(WORKLOAD, files=100_000))
    golden("\n".join((told.sentence, *told.evidence)))


def test_files_in_memory_never_come_from_disk() -> None:
    many = replace(WORKLOAD, files=1_000_000, filesystem=replace(DISK, memory=True))
    assert not reads_from_disk(many, MACHINE)
    assert reads_from_disk(replace(many, filesystem=DISK), MACHINE)
    assert not reads_from_disk(replace(many, filesystem=None), replace(MACHINE, memory_bytes=0))


def test_a_network_filesystem_is_named(golden: Golden) -> None:
    told = verdict(baseline(), workload=replace(WORKLOAD, filesystem=replace(DISK, type="nfs4", network=True)))
    golden("\n".join((told.sentence, *told.evidence)))
