"""What a plan downloads and keeps on disk; files that are already in the cache cost nothing."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.suite.golden import Golden
from support.values.builders import environment
from support.values.plans import parts_of

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.files import sha256
from fastinstall.index.downloads import copy_local_file, store_download
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode, Request
from fastinstall.setup.expectations import describe_cost, estimate_cost
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.prepare import SystemPackages
from fastinstall.setup.steps.prove import Prove

MB = 1_000_000


def artefact(filename: str, size: int, sha256: str = "ab" * 32, url: str = "https://index.example/") -> Artefact:
    return Artefact(name=filename.partition("-")[0], version="1", filename=filename, url=url, sha256=sha256, size=size)


SOURCE = artefact("pillow-13.0.0.tar.gz", 47 * MB, "aa" * 32)
WHEEL = artefact("pillow-13.0.0-cp311-cp311-linux_x86_64.whl", 7 * MB, "bb" * 32)
COMPILER = artefact("ziglang-0.17.1-py3-none-linux_x86_64.whl", 101 * MB, "cc" * 32)
BUILD = Build(
    recipe="pillow-fast",
    source=SOURCE,
    base_wheel=WHEEL,
    clang=COMPILER,
    distribution="pillow",
    version="13.0.0+simd.v3",
    targets=(LevelTarget(level="x86-64-v3", cflags=(), ldflags=()),),
    link=LinkMode.BUNDLE,
    libraries=(),
    jobs=2,
    reason="a test",
)


def plan(*steps: SetupStep) -> Plan:
    return Plan(environment=environment(), facts_digest="0", request=Request(), summary="a test", **parts_of(*steps))


PLAN = plan(BUILD, Prove(reference=WHEEL, baseline=WHEEL, reason=""))


def test_every_file_counts_once_and_what_is_unpacked_stays(tmp_path: Path) -> None:
    cost = estimate_cost(PLAN, tmp_path)
    assert cost.download_bytes == (47 + 7 + 101) * MB
    unpacked = list_wheel_compilers()["ziglang"].unpacked_bytes + 4 * 7 * MB
    assert cost.kept_bytes == cost.download_bytes + unpacked
    assert not cost.is_least


def test_what_the_cache_has_costs_nothing(tmp_path: Path) -> None:
    local = tmp_path / "pillow-13.0.0.tar.gz"
    local.write_bytes(b"x")
    stored = replace(SOURCE, sha256=sha256(local))
    store_download(tmp_path / "cache", stored, partial(copy_local_file, local))
    cost = estimate_cost(plan(replace(BUILD, source=stored)), tmp_path / "cache")
    assert cost.download_bytes == (7 + 101) * MB


def test_a_wheel_that_is_in_the_cache_needs_its_proof_alone(tmp_path: Path) -> None:
    cost = estimate_cost(plan(replace(BUILD, cached="dd" * 32), Prove(reference=WHEEL, reason="")), tmp_path)
    assert cost.download_bytes == 7 * MB


def test_a_wheel_of_a_directory_costs_nothing(tmp_path: Path) -> None:
    local = replace(WHEEL, url="file:///srv/wheels/pillow.whl")
    made = plan(replace(BUILD, prebuilt=local, source=None, base_wheel=None, clang=None))
    assert describe_cost(made, tmp_path) == ""


NO_FILE = replace(BUILD, base_wheel=None, clang=None)


@pytest.mark.parametrize(
    "step",
    [
        replace(NO_FILE, source=replace(SOURCE, size=300_000)),
        replace(NO_FILE, source=replace(SOURCE, size=0)),
        SystemPackages(manager="apt", packages=("gcc",), reason="a test"),
    ],
    ids=["small", "of unknown size", "by a package manager"],
)
def test_a_cost_is_never_said_to_be_zero(tmp_path: Path, step: SetupStep) -> None:
    words = describe_cost(plan(step), tmp_path)
    assert words
    assert " 0 " not in words


@pytest.mark.parametrize("size", [0, 47 * MB])
def test_it_is_told_in_words_with_what_nobody_knows(tmp_path: Path, golden: Golden, size: int) -> None:
    golden(describe_cost(plan(replace(BUILD, source=replace(SOURCE, size=size))), tmp_path))
