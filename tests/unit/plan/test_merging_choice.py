"""Which fork goes onto which version, beside what the plans of tests/cases/plans show."""

import pytest

from fastinstall.cmerge.documents import Kernels
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.plan.versions import Merge, choose_merge, warn_about_unproven_version

KERNELS = Kernels(pypi="fork", follows="pillow", proven=("12.2.0", "13.0.0"))


def artefact(name: str, version: str) -> Artefact:
    return Artefact(name=name, version=version, filename=f"{name}-{version}", url="", sha256="")


RELEASES = Releases(
    sources=(),
    wheels=tuple(artefact("pillow", version) for version in ("13.0.0", "12.10.0", "12.9.0", "12.1.1")),
    kernels=tuple(artefact("fork", version) for version in ("12.10.0.post0", "12.1.1.post1", "12.1.1.post0")),
    bases=tuple(artefact("pillow", version) for version in ("13.0.0", "12.10.0", "12.1.1")),
    origin="a test",
)


@pytest.mark.parametrize(
    ("source", "fork", "base"),
    [
        ("13.0.0", "12.10.0.post0", "12.10.0"),
        ("12.10.0", "12.10.0.post0", "12.10.0"),
        ("12.9.0", "12.1.1.post1", "12.1.1"),
        ("12.1.1", "12.1.1.post1", "12.1.1"),
    ],
)
def test_the_newest_fork_that_is_not_later_than_the_source_is_merged_from_its_own_base(
    source: str, fork: str, base: str
) -> None:
    found = choose_merge(artefact("pillow", source), KERNELS, RELEASES)
    assert isinstance(found, Merge)
    assert (found.kernels.version, found.base.version) == (fork, base)


def test_a_version_that_the_merge_was_proven_on_needs_no_caution() -> None:
    assert warn_about_unproven_version("13.0.0", KERNELS, "nothing is changed") == ""
    assert warn_about_unproven_version("13.0", KERNELS, "nothing is changed") == ""


def test_a_merge_that_was_proven_on_nothing_says_so() -> None:
    assert "(none yet)" in warn_about_unproven_version(
        "13.0.0", Kernels(pypi="fork", follows="pillow"), "nothing is changed"
    )
