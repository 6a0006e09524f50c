from dataclasses import replace

import pytest

from fastinstall.bench.candidates import CandidateRun
from fastinstall.bench.catalogue import USUAL_PRIORITY
from fastinstall.bench.effort import (
    FULL,
    QUICK,
    MeasurementBudget,
    sample_size,
    schedule_for,
    seconds_for,
    sort_by_promise,
)
from fastinstall.bench.report import Candidate, CandidateKind


def candidate_run(name: str, kind: CandidateKind, priority: int = USUAL_PRIORITY, *, scales: float = 0) -> CandidateRun:
    candidate = Candidate(name=name, title=name, kind=kind, variables={})
    return CandidateRun(candidate=candidate, priority=priority, scales=scales)


@pytest.mark.parametrize("effort", [QUICK, FULL])
def test_small_photos_make_a_full_sample_and_large_ones_few(effort: MeasurementBudget) -> None:
    assert sample_size(effort, [0.19] * 100, None) == effort.sample
    assert effort.least_sample <= sample_size(effort, [12.0] * 100, None) <= 8


def test_a_number_that_was_asked_for_is_taken_as_far_as_there_are_images() -> None:
    assert sample_size(QUICK, [12.0] * 100, 50) == 50
    assert sample_size(QUICK, [12.0] * 10, 50) == 10


def test_there_is_no_sample_of_nothing() -> None:
    assert sample_size(QUICK, [], None) == 0


def test_one_huge_photo_is_measured_all_the_same() -> None:
    assert sample_size(QUICK, [80.0], None) == 1


def test_a_candidate_is_given_up_after_a_time_that_fits_the_baseline() -> None:
    assert schedule_for(QUICK, 0.05).patience == QUICK.patience
    slow = schedule_for(QUICK, 1.0)
    assert QUICK.patience < slow.patience <= 4 * QUICK.patience
    assert schedule_for(QUICK, 1000.0).patience == 4 * QUICK.patience


def test_the_first_pass_is_waited_for_as_its_files_may_come_from_afar() -> None:
    assert schedule_for(QUICK).patience >= 60


def test_what_a_candidate_takes_grows_with_rounds_and_with_the_pass() -> None:
    schedule = schedule_for(QUICK, 0.1)
    assert seconds_for(schedule, 0.2, 0.1) > seconds_for(schedule, 0.1, 0.1)
    assert seconds_for(replace(schedule, rounds=6), 0.1, 0.1) > seconds_for(schedule, 0.1, 0.1)


FIVE = (
    candidate_run("lmdb", CandidateKind.STORAGE),
    candidate_run("rare-decoder", CandidateKind.DECODER),
    candidate_run("huge-pages", CandidateKind.SETTING, 40),
    candidate_run("fastinstall", CandidateKind.STACK, 20),
    candidate_run("pillow-draft", CandidateKind.DECODER, 10, scales=2),
)


def test_the_most_promising_come_first_and_stores_last() -> None:
    found = [each.name for each in sort_by_promise(FIVE, 3.0)]
    assert found == ["pillow-draft", "fastinstall", "huge-pages", "rare-decoder", "lmdb"]


def test_decoding_at_a_part_of_the_size_promises_nothing_where_images_are_small() -> None:
    found = [each.name for each in sort_by_promise(FIVE, 1.0)]
    assert found == ["fastinstall", "huge-pages", "rare-decoder", "lmdb", "pillow-draft"]
