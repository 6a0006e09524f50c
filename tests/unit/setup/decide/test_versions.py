from dataclasses import replace
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.version_numbers import base_version
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Dependant, Interpreter
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.model.request import Request
from fastinstall.setup.decide.versions import choose_version

FILE = Path(__file__).parents[3] / "cases" / "recipes" / "fork.toml"
RECIPE = parse_recipe(FILE.read_text(encoding="utf-8"), FILE)


def _artefact(name: str, version: str, requires_python: str = ">=3.10") -> Artefact:
    return Artefact(
        name=name,
        version=version,
        filename=f"{name}-{version}",
        url=f"https://example.org/{name}-{version}",
        sha256="0" * 64,
        requires_python=requires_python,
    )


def _python(version: str = "3.11.7") -> Interpreter:
    prefix = Path("/env")
    return Interpreter(
        executable=prefix / "bin/python",
        implementation="cpython",
        version=version,
        abi="cp311",
        platform="linux-x86_64",
        libc="glibc",
        libc_version="2.36",
        free_threaded=False,
        extension_suffix=".so",
        prefix=prefix,
        base_prefix=prefix,
        site_packages=prefix / "lib",
        include=prefix / "include",
        has_headers=True,
    )


NEWEST = _artefact("pillow-simd", "12.1.1.post0")
OLDER = _artefact("pillow-simd", "12.0.0.post0")
OLD = _artefact("pillow-simd", "10.4.0.post0", ">=3.8")
WHEEL = _artefact("pillow", "12.1.1")
RELEASES = Releases(
    sources=(NEWEST, OLDER, OLD), wheels=(_artefact("pillow", "13.0.0"), WHEEL), origin="the package index"
)
OURS = _artefact("pillow", "12.1.1+simd.v3", "")


def _needs(requirement: str, name: str = "imageio") -> Dependant:
    return Dependant(name=name, requirement=requirement)


def test_the_newest_is_taken_with_its_official_wheel() -> None:
    choice = choose_version(RELEASES, RECIPE, _python(), (_needs("pillow>=8.3.2"),), Request())
    assert (choice.source, choice.base_wheel, choice.prebuilt) == (NEWEST, WHEEL, None)
    assert choice.version == "12.1.1.post0"
    assert choice.reason == "pillow-simd 12.1.1.post0 is the newest"


def test_a_version_without_an_official_wheel_has_no_base_wheel() -> None:
    choice = choose_version(replace(RELEASES, wheels=RELEASES.wheels[:1]), RECIPE, _python(), (), Request())
    assert (choice.source, choice.base_wheel) == (NEWEST, None)


def test_an_older_python_gets_the_newest_that_it_can_run(golden: Golden) -> None:
    choice = choose_version(RELEASES, RECIPE, _python("3.9.18"), (), Request())
    assert choice.source == OLD
    golden(choice.reason)


def test_a_dependant_that_wants_less_gets_less(golden: Golden) -> None:
    choice = choose_version(RELEASES, RECIPE, _python(), (_needs("pillow<12.1"),), Request())
    assert choice.source == OLDER
    golden(choice.reason)


@pytest.mark.parametrize("requirement", ["pillow==12.1.1", "pillow<=12.1.1", "Pillow~=12.1", "pillow!=12.0.0"])
def test_a_fork_counts_as_the_version_that_it_follows(requirement: str) -> None:
    assert choose_version(RELEASES, RECIPE, _python(), (_needs(requirement),), Request()).source == NEWEST


def test_a_fork_under_its_own_name_counts_as_its_own_version() -> None:
    requirement = (_needs("pillow-simd>=12.1.1.post0"),)
    assert choose_version(RELEASES, RECIPE, _python(), requirement, Request(dist_name="pillow-simd")).source == NEWEST


@pytest.mark.parametrize(
    "requirement", ['pillow>=13; extra == "all"', 'pillow>=13; python_version < "3.9"', "pillow >= banana", "pillow"]
)
def test_requirements_that_do_not_apply_forbid_nothing(requirement: str) -> None:
    assert choose_version(RELEASES, RECIPE, _python(), (_needs(requirement),), Request()).source == NEWEST


def test_markers_are_those_of_the_target_and_not_of_this_python() -> None:
    with pytest.raises(RefusedError):
        choose_version(RELEASES, RECIPE, _python("3.8.18"), (_needs('pillow>=13; python_version == "3.8"'),), Request())


def test_a_dependant_that_forbids_all_is_named() -> None:
    with pytest.raises(RefusedError, match="imageio requires pillow>=13") as caught:
        choose_version(RELEASES, RECIPE, _python(), (_needs("pillow>=13"),), Request())
    assert "the newest is 12.1.1.post0" in caught.value.message
    assert (caught.value.hint or "").startswith("relax or remove imageio")
    assert len(caught.value.details) == 3


@pytest.mark.parametrize("version", ["3.7.1", "4.0.0"])
def test_a_python_that_fits_no_version_is_refused(version: str) -> None:
    sources = (_artefact("pillow-simd", "12.1.1.post0", ">=3.10,<4"),)
    with pytest.raises(RefusedError, match=f">=3.10,<4, .*{version}") as caught:
        choose_version(replace(RELEASES, sources=sources), RECIPE, _python(version), (), Request())
    assert "--new-env" in (caught.value.hint or "")


def test_an_unreadable_requires_python_does_not_constrain() -> None:
    odd = _artefact("pillow-simd", "12.1.1.post0", "three and up")
    assert choose_version(replace(RELEASES, sources=(odd,)), RECIPE, _python(), (), Request()).source == odd


def test_a_named_version_is_taken() -> None:
    choice = choose_version(RELEASES, RECIPE, _python(), (), Request(version="12.0.0.post0"))
    assert (choice.source, choice.reason) == (OLDER, "pillow-simd 12.0.0.post0 as requested")


def test_an_unknown_named_version_is_refused_with_the_nearest(golden: Golden) -> None:
    with pytest.raises(UsageError, match=r"--version 11\.0") as caught:
        choose_version(RELEASES, RECIPE, _python(), (), Request(version="11.0"))
    golden(caught.value, "refusal")
    golden(caught.value.hint, "hint")


def test_a_named_version_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="--version latest: not a version"):
        choose_version(RELEASES, RECIPE, _python(), (), Request(version="latest"))


def test_a_named_version_that_the_target_forbids_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"12\.1\.1\.post0: .* Python >=3\.10"):
        choose_version(RELEASES, RECIPE, _python("3.9.18"), (), Request(version="12.1.1.post0"))


def test_a_release_candidate_is_taken_only_by_name() -> None:
    candidate = _artefact("pillow-simd", "13.0.0rc1")
    releases = replace(RELEASES, sources=(candidate, *RELEASES.sources))
    assert choose_version(releases, RECIPE, _python(), (), Request()).source == NEWEST
    assert choose_version(releases, RECIPE, _python(), (), Request(version="13.0.0rc1")).source == candidate


def test_nothing_on_offer_is_refused_with_where_it_was_sought() -> None:
    with pytest.raises(RefusedError, match="/wheels offers no fork"):
        choose_version(Releases(sources=(), wheels=(), origin="/wheels"), RECIPE, _python(), (), Request())


def test_a_prebuilt_wheel_of_the_newest_version_is_used_as_it_is() -> None:
    choice = choose_version(replace(RELEASES, prebuilt=(OURS,)), RECIPE, _python(), (), Request())
    assert (choice.prebuilt, choice.source, choice.base_wheel, choice.version) == (OURS, None, WHEEL, "12.1.1")


def test_a_prebuilt_wheel_of_another_name_is_passed_over() -> None:
    choice = choose_version(
        replace(RELEASES, prebuilt=(OURS,)), RECIPE, _python(), (), Request(dist_name="pillow-simd")
    )
    assert (choice.prebuilt, choice.source) == (None, NEWEST)


def test_a_prebuilt_wheel_matches_the_version_it_was_built_from() -> None:
    releases = Releases(sources=(), wheels=(), prebuilt=(OURS,), origin="/wheels")
    assert choose_version(releases, RECIPE, _python(), (), Request(version="12.1.1.post0")).prebuilt == OURS


@pytest.mark.parametrize(
    ("version", "base"),
    [("12.1.1.post0", "12.1.1"), ("12.1.1+simd.v3", "12.1.1"), ("13.0.0rc1", "13.0.0rc1"), ("13.0.0", "13.0.0")],
)
def test_base_version_is_that_of_the_pillow_followed(version: str, base: str) -> None:
    assert base_version(version) == base
