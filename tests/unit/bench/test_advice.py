"""Advice on loading images: ranked by what was measured, marked where it is no like for like, and silent elsewhere."""

import shlex
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.bench.adapters import adapter_named
from support.bench.measurements import DISK, WORKLOAD, advice, baseline, context, rate, result, timing, unlike
from support.suite.golden import Golden
from support.values.builders import environment

from fastinstall.bench.adoption import ways_of
from fastinstall.bench.advice import is_worthwhile
from fastinstall.bench.catalogue import kind_named
from fastinstall.bench.report import (
    CONTROL,
    CandidateKind,
    CandidateOutcome,
    CandidateResult,
    Gain,
    ImagePipeline,
    SpeedAdvice,
)
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.finding import Status

PYTHON = "/srv/images/env/bin/python"
PRINT_CODE = "fastinstall bench --print-code"
BUILD = {"kind": CandidateKind.STACK, "stack": "fastinstall"}


def command(told: SpeedAdvice) -> str:
    assert told.finding.remedy is not None
    return told.finding.remedy.command or ""


def recommended(told: tuple[SpeedAdvice, ...]) -> list[str]:
    return [each.candidate for each in told if each.recommended]


def messages(told: tuple[SpeedAdvice, ...]) -> str:
    """All that is said: each message, what it rests on, and what to do."""
    return "\n".join(
        line
        for each in told
        for line in (
            each.finding.message,
            *(f"  {evidence}" for evidence in each.finding.evidence),
            *([f"  -> {each.finding.remedy.text}"] if each.finding.remedy else []),
        )
    )


def test_the_largest_gain_comes_first_and_is_recommended(golden: Golden) -> None:
    told = advice(baseline(), result("small", 1.2), result("large", 1.9), result("middle", 1.5))
    assert [each.candidate for each in told] == ["large", "middle", "small"]
    assert recommended(told) == ["large"]
    assert all(each.finding.check == "data-loading" and each.finding.status is Status.HINT for each in told)
    golden(messages(told))


@pytest.mark.parametrize(
    ("ratio", "low", "is_told"),
    [(1.06, 1.03, True), (1.04, 1.03, False), (1.5, 1.02, False), (1.05, 1.021, True), (0.9, 0.8, False)],
)
def test_a_gain_counts_where_it_is_more_than_noise(ratio: float, low: float, *, is_told: bool) -> None:
    gain = Gain(ratio=ratio, low=low, high=2.0, rounds=5)
    assert is_worthwhile(result("one", ratio, gain=gain)) is is_told
    told = advice(baseline(), result("one", ratio, gain=gain))
    assert ("one" in [each.candidate for each in told]) is is_told


def control(ratio: float, spread: float = 0.01) -> CandidateResult:
    gain = Gain(ratio=ratio, low=ratio - spread, high=ratio + spread, rounds=6)
    return result("pillow-draft", ratio, adapter="pillow-draft", gain=gain, reason=f"{CONTROL}too small")


def test_a_control_is_no_advice_and_no_smaller_gain_than_its_noise_is() -> None:
    told = advice(baseline(), control(1.03, 0.05), result("small", 1.07), result("large", 1.5))
    assert [each.candidate for each in told] == ["large"]


@pytest.mark.parametrize("disturbed", [control(3.07, 0.2), control(0.9), control(1.1, 0.3)])
def test_on_a_busy_machine_nothing_is_recommended(disturbed: CandidateResult, golden: Golden) -> None:
    told = advice(baseline(), disturbed, result("large", 4.22))
    assert recommended(told) == []
    golden(messages(told))


def wide(name: str, ratio: float, spread: float, **fields: Any) -> CandidateResult:
    return result(name, ratio, gain=Gain(ratio=ratio, low=ratio - spread, high=ratio + spread, rounds=4), **fields)


def test_of_overlapping_ranges_the_simplest_is_recommended() -> None:
    store = wide("lmdb", 4.2, 0.4, kind=CandidateKind.STORAGE, storage="lmdb")
    build = wide("fastinstall", 4.0, 0.3, **BUILD)
    setting = wide("huge-pages", 3.6, 0.1, kind=CandidateKind.SETTING, variables={"A": "b"})
    assert recommended(advice(baseline(), store, build)) == ["fastinstall"]
    assert recommended(advice(baseline(), store, build, wide("pillow-draft", 3.9, 0.3, adapter="pillow-draft"))) == [
        "pillow-draft"
    ]
    assert recommended(advice(baseline(), store, build, setting)) == ["fastinstall"]


def test_a_much_smaller_gain_is_another_gain_whatever_its_range() -> None:
    assert recommended(advice(baseline(), wide("fast", 4.0, 0.2), wide("pillow-draft", 2.0, 3.0))) == ["fast"]


def test_what_the_build_in_place_has_brought_is_told_first(golden: Golden) -> None:
    official = result("official-wheel", 0.59, kind=CandidateKind.STACK, stack="official wheel", title="pillow 13.0.0")
    told = advice(baseline(), official, result("large", 1.5))
    assert [each.candidate for each in told] == ["official-wheel", "large"]
    assert recommended(told) == ["large"]
    golden(told[0].finding.message)


def test_candidates_that_were_not_measured_are_no_advice() -> None:
    missing = result("missing", 3.0, outcome=CandidateOutcome.MISSING, timing=None, gain=None)
    assert advice(baseline(), missing) == ()


def test_where_nothing_helps_it_says_leave_it_alone(golden: Golden) -> None:
    (told,) = advice(baseline(), result("one", 1.03), result("two", 0.8))
    assert told.finding.status is Status.OK
    golden(messages((told,)))


def test_where_all_are_slower_there_is_nothing_to_gain(golden: Golden) -> None:
    (told,) = advice(baseline(), result("one", 0.7))
    assert told.finding.status is Status.OK
    golden(told.finding.message)


def test_a_gain_within_the_noise_is_none(golden: Golden) -> None:
    (told,) = advice(baseline(), result("one", 1.4, gain=Gain(ratio=1.4, low=0.9, high=1.8, rounds=5)))
    assert told.finding.status is Status.OK
    golden(told.finding.message)


def test_where_it_is_fast_enough_the_rest_is_not_told(golden: Golden) -> None:
    (told,) = advice(baseline(rate(2, 890)), result("one", 1.9), target=400.0)
    assert told.finding.status is Status.OK
    golden(messages((told,)))


def test_another_picture_is_marked_and_never_recommended(golden: Golden) -> None:
    aliased = result("skipping", 2.2, aliased=True, difference=unlike(6.1))
    told = advice(baseline(), aliased, result("plain", 1.3))
    assert [each.candidate for each in told] == ["skipping", "plain"]
    assert recommended(told) == ["plain"]
    golden(told[0].finding.message)


@pytest.mark.parametrize(("mean", "is_alike"), [(1.0, True), (1.01, False)])
def test_pictures_that_differ_by_more_than_a_level_are_others(mean: float, *, is_alike: bool) -> None:
    told = advice(baseline(), result("other", 1.9, difference=unlike(mean)))
    assert (recommended(told) == ["other"]) is is_alike
    assert ("not the same picture" in messages(told)) is not is_alike


def test_pictures_of_another_size_are_others() -> None:
    told = advice(baseline(), result("other", 1.9, difference=replace(unlike(0.0), same_shape=False)))
    assert recommended(told) == []
    assert "another size" in messages(told)


def test_where_only_other_pictures_are_faster_it_says_so_first(golden: Golden) -> None:
    told = advice(baseline(), result("skipping", 2.2, aliased=True), result("plain", 1.02))
    assert [(each.candidate, each.finding.status) for each in told] == [("", Status.OK), ("skipping", Status.HINT)]
    golden(told[0].finding.message)


def test_images_that_it_cannot_load_are_named(golden: Golden) -> None:
    told = advice(baseline(), result("picky", 1.9, left_out=3))
    assert recommended(told) == []
    golden(messages(told))


def test_the_build_is_set_up_in_the_environment() -> None:
    (told,) = advice(baseline(), result("fastinstall", 1.9, **BUILD))
    assert command(told) == "fastinstall setup --prefix /srv/images/env"


def test_the_operating_system_s_python_is_left_alone() -> None:
    place = replace(environment(), kind=EnvironmentKind.SYSTEM)
    (way,) = ways_of(result("fastinstall", 1.9, **BUILD), replace(context(baseline()), environment=place))
    assert way.command == "fastinstall setup --new-env ./fast-env"


def test_the_official_wheel_comes_by_the_environment_s_own_pip() -> None:
    (told,) = advice(baseline(), result("official-wheel", 1.2, kind=CandidateKind.STACK, stack="official wheel"))
    assert command(told) == f"{PYTHON} -m pip install --upgrade pillow"
    (told,) = advice(
        baseline(), result("official-wheel", 1.2, kind=CandidateKind.STACK, stack="official wheel"), pillow="pillow<13"
    )
    assert command(told) == f"{PYTHON} -m pip install --upgrade 'pillow<13'"


def test_a_decoder_is_printed_and_its_line_of_code_told() -> None:
    (told,) = advice(baseline(), result("pillow-draft", 1.9, adapter="pillow-draft"))
    assert command(told) == f"{PRINT_CODE} pillow-draft > loader.py"
    assert told.code == adapter_named("pillow-draft").code


def test_a_pipeline_of_batches_takes_the_place_of_the_data_loader(golden: Golden) -> None:
    (told,) = advice(baseline(), result("dali", 1.9, adapter="dali"))
    golden(messages((told,)))
    assert recommended(
        advice(baseline(), result("dali", 1.92, adapter="dali"), result("fastinstall", 1.9, **BUILD))
    ) == ["fastinstall"]


def test_a_decoder_that_was_fetched_for_the_measurement_is_installed_first() -> None:
    own = result("pyvips", 1.9, adapter="pyvips", stack="its own")
    (told,) = advice(baseline(), own)
    installed, printed = command(told).split(" && ")
    assert installed == f"{PYTHON} -m pip install 'pyvips[binary]>=2.2.3' numpy"
    assert printed == f"{PRINT_CODE} pyvips > loader.py"
    (told,) = advice(baseline(), own, has_pip=False)
    assert command(told).startswith(f"uv pip install --python {PYTHON} 'pyvips[binary]>=2.2.3'")


def test_printed_code_does_what_was_measured() -> None:
    pipeline = ImagePipeline(shorter=320, crop=0, filter="lanczos")
    (told,) = advice(baseline(), result("pillow-draft", 1.9, adapter="pillow-draft"), pipeline=pipeline)
    assert command(told).split(" > ")[0].split()[1:-2] == [
        *("bench", "--size", "320", "--crop", "0", "--filter", "lanczos")
    ]


def test_variables_go_before_the_training() -> None:
    setting = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    (told,) = advice(baseline(), result("huge-pages", 1.8, kind=CandidateKind.SETTING, variables=setting))
    assert command(told) == "export GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
    assert told.code == "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 python train.py"
    assert told.finding.remedy is not None
    assert "costs some memory" in told.finding.remedy.text


STORE = {"kind": CandidateKind.STORAGE, "storage": "lmdb", "stored_ratio": 2.0, "stored_bytes": 1}


def test_a_store_is_prepared_by_a_printed_script_with_its_need_of_disk(golden: Golden) -> None:
    odd = replace(WORKLOAD, directory=PurePosixPath("/data/my photos"))
    (told,) = advice(baseline(), result("lmdb", 1.9, **STORE), workload=odd)
    printed, run = command(told).split(" && ")
    assert printed == f"{PRINT_CODE} lmdb > prepare.py"
    assert shlex.split(run) == [PYTHON, "prepare.py", "/data/my photos", "./my photos-lmdb"]
    assert told.recommended
    golden(messages((told,)))


def test_a_store_in_place_of_a_loader_of_one_piece_needs_no_other_loader() -> None:
    (told,) = advice(baseline(adapter="own loader"), result("lmdb", 1.9, **STORE))
    assert "loader.py" not in command(told)


def test_the_caveat_of_a_store_is_told() -> None:
    (told,) = advice(baseline(), result("lmdb", 1.9, **STORE))
    assert told.finding.remedy is not None
    assert f"{kind_named('lmdb').caveat}; it takes 2.0 GB" in told.finding.remedy.text


def test_of_generated_images_nobody_needs_the_space(golden: Golden) -> None:
    told = advice(baseline(), result("lmdb", 1.9, **STORE), workload=replace(WORKLOAD, generated=True))
    assert command(told[0]).endswith("prepare.py DIR OUT")
    golden(messages(told))


def test_a_store_that_does_not_fit_on_the_disk_is_not_recommended(golden: Golden) -> None:
    small = replace(WORKLOAD, filesystem=replace(DISK, free_bytes=2_100_000_000))
    told = advice(baseline(), result("lmdb", 1.9, **STORE), workload=small)
    assert recommended(told) == []
    golden(messages(told))


@pytest.mark.parametrize(("ratio", "is_recommended"), [(4.0, True), (4.1, False)])
def test_a_store_of_many_times_the_size_is_not_recommended(ratio: float, *, is_recommended: bool) -> None:
    told = advice(baseline(), result("bmp", 1.9, **{**STORE, "stored_ratio": ratio}))
    assert (recommended(told) == ["bmp"]) is is_recommended
    assert ("takes 4.1 times the space" in messages(told)) is not is_recommended


def test_a_gain_in_memory_is_told_as_what_is_left_of_it_from_disk() -> None:
    many = replace(WORKLOAD, files=100_000)
    told = advice(baseline(measured=timing(cold_read_ms=2.1)), result("one", 2.0), workload=many)
    assert any("about 1.33 times as fast" in line for line in told[0].finding.evidence)


def test_the_number_of_workers_is_the_smallest_that_pays(golden: Golden) -> None:
    rates = (rate(0, 500), rate(1, 480), rate(2, 900), rate(3, 910), rate(4, 905))
    (told,) = advice(baseline(*rates))
    assert told.code == "num_workers=2"
    golden(messages((told,)))
    assert told.gain is not None
    assert told.gain.ratio == pytest.approx(1.8)
    assert not told.recommended


def test_more_workers_than_cpus_are_told_where_they_help() -> None:
    (told,) = advice(baseline(rate(0, 500), rate(2, 600), rate(4, 900)))
    assert told.code == "num_workers=4"


def test_where_workers_bring_nothing_their_number_is_not_told() -> None:
    assert advice(baseline(rate(0, 500), rate(1, 480), rate(2, 510))) == ()


def test_where_nothing_was_measured_there_is_no_advice() -> None:
    assert advice(replace(baseline(), timing=None), result("one", 1.9)) == ()
