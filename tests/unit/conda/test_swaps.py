"""The messages before and after conda replaces the stack."""

import shlex
from pathlib import PurePosixPath

import pytest
from support.suite.golden import Golden

from fastinstall.conda.swaps import CoreStatus, StackStatus, describe_conda_changes, foresee_conda_changes
from fastinstall.model.conda import CondaChange, CondaPackage


def _package(name: str, version: str, build: str = "0", *depends: str) -> CondaPackage:
    return CondaPackage(name=name, version=version, build=build, channel="conda-forge", depends=depends)


OURS = _package("pillow", "13.0.0", "simd_v2v3_py311_0")
NEWER = _package("pillow", "13.1.0", "py311h1234567_0")
STANDING = StackStatus(
    prefix=PurePosixPath("/srv/env"),
    name="the fast Pillow 13.0.0",
    packaged=True,
    core=CoreStatus.INTACT,
    records=(OURS,),
)
GUARD = CondaPackage(name="fastinstall-guard", version="1", build="0")


def _told(*linked: CondaPackage, packaged: bool = True) -> str:
    change = CondaChange(linked=linked, unlinked=(OURS,) if packaged else ())
    status = (
        STANDING
        if packaged
        else StackStatus(prefix=STANDING.prefix, name=STANDING.name, packaged=False, core=CoreStatus.INTACT)
    )
    return "\nhint: ".join(foresee_conda_changes(change, status))


def test_a_package_that_requires_another_pillow_is_the_cause(golden: Golden) -> None:
    viewer = _package("viewer", "2.0", "0", "python", "pillow >=13.1,<14")
    told = _told(NEWER, viewer)
    golden(told)


def test_of_several_causes_the_bounded_ones_come_first(golden: Golden) -> None:
    any_version = [_package(f"tool{number}", "1", "0", "pillow") for number in range(4)]
    bounded = _package("viewer", "2.0", "0", "conda-forge::pillow>=13.1")
    told = _told(NEWER, *any_version, bounded)
    golden(told)


def test_another_python_is_the_cause(golden: Golden) -> None:
    change = CondaChange(
        linked=(NEWER, _package("python", "3.12.1"), _package("viewer", "2", "0", "pillow")),
        unlinked=(OURS, _package("python", "3.11.7")),
    )
    golden(foresee_conda_changes(change, STANDING)[0])


def test_where_nothing_requires_it_no_cause_is_told(golden: Golden) -> None:
    golden(_told(NEWER, _package("puretool", "1")))


def test_a_stack_unknown_to_conda_is_advised_to_become_a_package(golden: Golden) -> None:
    golden(_told(NEWER, packaged=False))


def test_a_removal_is_told_with_the_way_back(golden: Golden) -> None:
    golden(_told())


def test_the_guard_package_does_not_go_unnoticed(golden: Golden) -> None:
    sentence, hint = foresee_conda_changes(CondaChange(unlinked=(GUARD,)), STANDING)
    golden(f"{sentence}\nhint: {hint}")
    assert foresee_conda_changes(CondaChange(linked=(GUARD,), unlinked=(GUARD,)), STANDING) == ()


def test_a_python_that_leaves_a_stack_of_pips_behind_is_told(golden: Golden) -> None:
    change = CondaChange(linked=(_package("python", "3.12.1"),), unlinked=(_package("python", "3.11.7"),))
    sentence, _ = foresee_conda_changes(change, STANDING)
    golden(sentence)
    patch = CondaChange(linked=(_package("python", "3.11.9"),), unlinked=(_package("python", "3.11.7"),))
    assert foresee_conda_changes(patch, STANDING) == ()


@pytest.mark.parametrize("linked", [(), (_package("puretool", "1", "0", "pillow"),)])
def test_what_leaves_it_alone_is_no_news(linked: tuple[CondaPackage, ...]) -> None:
    assert foresee_conda_changes(CondaChange(linked=linked), STANDING) == ()


def test_another_build_of_ours_is_no_swap() -> None:
    later = _package("pillow", "13.1.0", "simd_v2v3_py311_1")
    assert _told(later) == ""
    changed = StackStatus(prefix=STANDING.prefix, name="", packaged=True, core=CoreStatus.OTHER, records=(later,))
    assert describe_conda_changes(changed, "update") == ()


@pytest.mark.parametrize(
    ("core", "records", "story"),
    [
        (CoreStatus.OTHER, (NEWER,), "was replaced with pillow 13.1.0 (py311h1234567_0 of conda-forge)"),
        (CoreStatus.GONE, (NEWER,), "was replaced with pillow 13.1.0 (py311h1234567_0 of conda-forge)"),
        (CoreStatus.GONE, (), "was removed"),
        (CoreStatus.GONE, (OURS,), "was removed"),
        (CoreStatus.OTHER, (), "was replaced"),
    ],
)
def test_what_has_happened_is_told_with_the_repair(
    core: CoreStatus, records: tuple[CondaPackage, ...], story: str
) -> None:
    status = StackStatus(
        prefix=PurePosixPath("/srv/my env"), name="the fast Pillow 13.0.0", packaged=True, core=core, records=records
    )
    sentence, hint = describe_conda_changes(status, "env_update")
    assert sentence.endswith(f"{story} by conda env update")
    assert shlex.split(hint) == ["conda", "fastinstall", "doctor", "--fix", "--prefix", "/srv/my env"]
    assert describe_conda_changes(status)[0].endswith(story)


def test_what_is_in_place_is_no_news() -> None:
    assert describe_conda_changes(STANDING, "install") == ()
