"""Advice on loading images: ordered by measured gain, marked if pictures differ, silent if nothing helps."""

import shlex
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.bench.measurements import DISK, WORKLOAD, advice, baseline, rate, result, unlike
from support.suite.golden import Golden
from support.values.builders import environment

from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import Candidate, CandidateKind, Gain, ImagePipeline, SpeedAdvice
from fastinstall.model.facts import EnvironmentKind

PYTHON = "/srv/images/env/bin/python"
PRINT_CODE = "fastinstall bench --print-code"
BUILD = {"kind": CandidateKind.STACK, "stack": "fastinstall"}
WHEEL = {"kind": CandidateKind.STACK, "stack": "official wheel"}
STORE = {"kind": CandidateKind.STORAGE, "storage": "lmdb", "stored_ratio": 2.0, "stored_bytes": 1}
SETTING = {"kind": CandidateKind.SETTING, "variables": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}}


def names(advised: tuple[SpeedAdvice, ...]) -> list[str]:
    return [each.candidate for each in advised]


def recommended(advised: tuple[SpeedAdvice, ...]) -> list[str]:
    return [each.candidate for each in advised if each.recommended]


def words(advised: tuple[SpeedAdvice, ...]) -> str:
    """Return each message, its evidence, and its remedy, as lines."""
    lines: list[str] = []
    for each in advised:
        lines += [each.message, *([f"  {each.evidence}"] if each.evidence else [])]
        lines += [f"  -> {each.remedy}"] if each.remedy else []
    return "\n".join(lines)


def spread(name: str, ratio: float, width: float, **fields: Any) -> Candidate:
    return result(name, ratio, gain=Gain(ratio=ratio, low=ratio - width, high=ratio + width, rounds=4), **fields)


def control(ratio: float, width: float = 0.01) -> Candidate:
    return spread("control", ratio, width, kind=CandidateKind.CONTROL)


def test_the_largest_gain_comes_first_and_is_recommended(golden: Golden) -> None:
    advised = advice(baseline(), result("small", 1.2), result("large", 1.9), result("middle", 1.5))
    assert (names(advised), recommended(advised)) == (["large", "middle", "small"], ["large"])
    golden(words(advised))


@pytest.mark.parametrize(
    ("ratio", "low", "is_advised"),
    [(1.06, 1.03, True), (1.04, 1.03, False), (1.5, 1.02, False), (1.05, 1.021, True), (0.9, 0.8, False)],
)
def test_a_gain_counts_if_it_exceeds_the_noise(ratio: float, low: float, *, is_advised: bool) -> None:
    gain = Gain(ratio=ratio, low=low, high=2.0, rounds=5)
    assert ("one" in names(advice(baseline(), result("one", ratio, gain=gain)))) is is_advised


def test_a_control_is_no_advice_and_hides_smaller_gains() -> None:
    assert names(advice(baseline(), control(1.03, 0.05), result("small", 1.07), result("large", 1.5))) == ["large"]


@pytest.mark.parametrize("disturbed", [control(3.07, 0.2), control(0.9), control(1.1, 0.3)])
def test_a_busy_machine_recommends_nothing(disturbed: Candidate) -> None:
    advised = advice(baseline(), disturbed, result("large", 4.22))
    assert (names(advised), recommended(advised)) == (["", "large"], [])
    assert "busy machine" in advised[0].message


def test_of_overlapping_ranges_the_simplest_is_recommended() -> None:
    store, build = spread("lmdb", 4.2, 0.4, **{**STORE, "stored_ratio": 1.0}), spread("fastinstall", 4.0, 0.3, **BUILD)
    draft, batches = spread("pillow-draft", 3.9, 0.3, adapter="pillow-draft"), spread("dali", 4.1, 0.3, adapter="dali")
    assert recommended(advice(baseline(), store, batches, build)) == ["fastinstall"]
    assert recommended(advice(baseline(), store, build, draft)) == ["pillow-draft"]
    assert recommended(advice(baseline(), store, build, spread("huge-pages", 3.6, 0.1, **SETTING))) == ["fastinstall"]
    assert recommended(advice(baseline(), spread("fast", 4.0, 0.2), spread("pillow-draft", 2.0, 3.0))) == ["fast"]


def test_the_gain_of_the_present_build_is_named_first() -> None:
    advised = advice(baseline(), result("official-wheel", 0.59, title="pillow 13", **WHEEL), result("large", 1.5))
    assert (names(advised), recommended(advised)) == (["official-wheel", "large"], ["large"])
    assert advised[0].message == "your build is already 1.7x stock (1.67 to 1.72): pillow 13"


def test_without_any_gain_it_says_leave_it_alone(golden: Golden) -> None:
    noisy = Gain(ratio=1.4, low=0.9, high=1.8, rounds=5)
    for about, results in {
        "a small gain": (result("one", 1.03), result("two", 0.8)),
        "all slower": (result("one", 0.7),),
        "within the noise": (result("one", 1.4, gain=noisy),),
    }.items():
        (advised,) = advice(baseline(), *results)
        golden(words((advised,)), about)
    (advised,) = advice(baseline(rate(2, 890)), result("one", 1.9), target=400.0)
    golden(words((advised,)), "fast enough")


def test_other_pictures_are_marked_and_not_recommended(golden: Golden) -> None:
    skipping = result("skipping", 2.2, aliased=True, difference=unlike(6.1))
    advised = advice(baseline(), skipping, result("plain", 1.3))
    assert (names(advised), recommended(advised)) == (["skipping", "plain"], ["plain"])
    golden(advised[0].message, "aliased")
    advised = advice(baseline(), skipping, result("plain", 1.02))
    assert names(advised) == ["", "skipping"]
    golden(advised[0].message, "nothing else is faster")
    advised = advice(baseline(), result("other", 1.9, difference=replace(unlike(0.0), same_shape=False)))
    assert (recommended(advised), "another size" in words(advised)) == ([], True)


@pytest.mark.parametrize(("mean", "is_alike"), [(1.0, True), (1.01, False)])
def test_pictures_may_differ_by_one_level(mean: float, *, is_alike: bool) -> None:
    advised = advice(baseline(), result("other", 1.9, difference=unlike(mean)))
    assert (recommended(advised) == ["other"]) is is_alike


def test_images_that_cannot_be_loaded_are_named() -> None:
    advised = advice(baseline(), result("picky", 1.9, left_out=3))
    assert (recommended(advised), "3 images cannot be loaded" in words(advised)) == ([], True)


@pytest.mark.parametrize(
    ("fields", "context", "expected"),
    [
        (BUILD, {}, "fastinstall setup --prefix /srv/images/env"),
        (WHEEL, {}, f"{PYTHON} -m pip install --upgrade pillow"),
        (WHEEL, {"pillow": "pillow<13"}, f"{PYTHON} -m pip install --upgrade 'pillow<13'"),
        ({"adapter": "pillow-draft"}, {}, f"{PRINT_CODE} pillow-draft > loader.py"),
        (
            {"adapter": "pillow-draft"},
            {"pipeline": ImagePipeline(shorter=320, crop=0, filter="lanczos")},
            "fastinstall bench --size 320 --crop 0 --filter lanczos --print-code pillow-draft > loader.py",
        ),
        (
            {"adapter": "pyvips", "stack": "its own"},
            {},
            f"{PYTHON} -m pip install 'pyvips[binary]>=2.2.3' numpy && {PRINT_CODE} pyvips > loader.py",
        ),
        (
            {"adapter": "pyvips", "stack": "its own"},
            {"has_pip": False},
            f"uv pip install --python {PYTHON} 'pyvips[binary]>=2.2.3' numpy && {PRINT_CODE} pyvips > loader.py",
        ),
        (SETTING, {}, "export GLIBC_TUNABLES=glibc.malloc.hugetlb=1"),
        (
            STORE,
            {"workload": replace(WORKLOAD, directory=PurePosixPath("/data/my photos"))},
            f"{PRINT_CODE} lmdb > prepare.py && {PYTHON} prepare.py '/data/my photos' './my photos-lmdb'",
        ),
        (
            STORE,
            {"workload": replace(WORKLOAD, generated=True)},
            f"{PRINT_CODE} lmdb > prepare.py && {PYTHON} prepare.py DIR OUT",
        ),
    ],
)
def test_each_advice_has_its_command(fields: dict[str, Any], context: dict[str, Any], expected: str) -> None:
    (advised,) = advice(baseline(), result("one", 1.9, **fields), **context)
    assert shlex.split(advised.command) == shlex.split(expected)


def test_the_system_python_is_left_alone() -> None:
    place = replace(environment(), kind=EnvironmentKind.SYSTEM)
    (advised,) = advice(baseline(), result("fastinstall", 1.9, **BUILD), environment=place)
    assert advised.command == "fastinstall setup --new-env ./fast-env"


def test_advice_names_code_and_cost(golden: Golden) -> None:
    (draft,) = advice(baseline(), result("pillow-draft", 1.9, adapter="pillow-draft"))
    assert draft.code == all_ways()["pillow-draft"].code
    (setting,) = advice(baseline(), result("huge-pages", 1.8, **SETTING))
    assert setting.code == "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 python train.py"
    golden(words((setting,)), "setting")
    golden(words(advice(baseline(), result("dali", 1.9, adapter="dali"))), "batches")
    golden(words(advice(baseline(), result("lmdb", 1.9, **STORE))), "store")


def test_a_store_needs_no_other_loader() -> None:
    (advised,) = advice(baseline(adapter="own loader"), result("lmdb", 1.9, **STORE))
    assert "loader.py" not in advised.command


def test_a_store_that_is_too_large_is_not_recommended() -> None:
    small = replace(WORKLOAD, filesystem=replace(DISK, free_bytes=2_100_000_000))
    advised = advice(baseline(), result("lmdb", 1.9, **STORE), workload=small)
    assert (recommended(advised), "needs 2.0 GB, but only 2.1 GB are free" in words(advised)) == ([], True)
    for ratio, is_recommended in ((4.0, True), (4.1, False)):
        advised = advice(baseline(), result("bmp", 1.9, **{**STORE, "stored_ratio": ratio}))
        assert (recommended(advised) == ["bmp"]) is is_recommended


@pytest.mark.parametrize(
    ("rates", "workers"),
    [
        ({0: 500, 1: 480, 2: 900, 3: 910, 4: 905}, 2),
        ({0: 500, 2: 600, 4: 900}, 4),
        ({0: 500, 1: 480, 2: 510}, 0),
    ],
)
def test_the_fewest_workers_that_pay_are_advised(rates: dict[int, float], workers: int) -> None:
    advised = advice(baseline(*(rate(count, speed) for count, speed in rates.items())))
    assert [each.code for each in advised] == ([f"num_workers={workers}"] if workers else [])
    assert not recommended(advised)
