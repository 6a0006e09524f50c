import itertools

import pytest
from rattler import Version, VersionSpec
from support.conda.versions import SPECS, VERSIONS

from fastinstall.model.conda_versions import CondaVersion, meets_conda_spec


def test_versions_are_ordered_as_rattler_orders_them() -> None:
    for one, other in itertools.product(VERSIONS, repeat=2):
        ours, theirs = (CondaVersion(one), CondaVersion(other)), (Version(one), Version(other))
        assert (ours[0] < ours[1], ours[0] == ours[1]) == (theirs[0] < theirs[1], theirs[0] == theirs[1]), (one, other)


@pytest.mark.parametrize("spec", SPECS)
def test_versions_meet_the_specs_that_they_meet_in_rattler(spec: str) -> None:
    theirs = VersionSpec(spec)
    ours = [version for version in VERSIONS if meets_conda_spec(spec, version)]
    assert ours == [version for version in VERSIONS if theirs.matches(Version(version))]


@pytest.mark.parametrize(
    ("spec", "version", "meets"),
    [("^13.*$", "13.0.0", True), ("^13.*$", "12.1.1", False), ("1*.0", "13.0", True), ("1*.0", "9.0", False)],
)
def test_patterns_are_compared_with_the_written_version(spec: str, version: str, *, meets: bool) -> None:
    assert meets_conda_spec(spec, version) is meets


@pytest.mark.parametrize("spec", ["(>=9,<10)|12.*", "?", ">", ""])
def test_what_cannot_be_read_forbids_nothing(spec: str) -> None:
    assert meets_conda_spec(spec, "13.0.0")
