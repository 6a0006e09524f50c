"""Whether a file can be trusted: examples that another user could have planted, and examples from ordinary machines."""

from pathlib import PurePosixPath

import pytest

from fastinstall.core.surroundings import (
    Person,
    TrustedPath,
    explain_file_distrust,
    keep_trusted_path_entries,
    restrict_umask,
)

ME, EVE, STAFF = 1000, 1001, 1002
PERSON = Person(user=ME)


def place(path: str, mode: int, owner: int) -> TrustedPath:
    return TrustedPath(path=PurePosixPath(path), mode=mode, owner=owner)


TMP = place("/scratch", 0o1777, 0)

PLANTED = {
    "program of another user in a place like /tmp": (place("/scratch/cc", 0o755, EVE), TMP, PERSON),
    "the same, and root would run it": (place("/scratch/cc", 0o755, EVE), TMP, Person(user=0)),
    "the same, under sudo of somebody else": (place("/scratch/cc", 0o755, EVE), TMP, Person(user=0, before=ME)),
    "settings of mine that everybody may write": (place("/scratch/fastinstall.toml", 0o666, ME), TMP, PERSON),
    "directory that is open without a sticky bit": (place("/open/cc", 0o755, EVE), place("/open", 0o777, 0), PERSON),
}

TRUSTED = {
    "a system's compiler": (place("/usr/bin/gcc", 0o755, 0), place("/usr/bin", 0o755, 0), PERSON),
    "one's own in a place like /tmp": (place("/scratch/cc", 0o755, ME), TMP, PERSON),
    "root's in a place like /tmp, in a container": (place("/scratch/fastinstall.toml", 0o644, 0), TMP, Person(user=0)),
    "one's own, under sudo": (place("/scratch/fastinstall.toml", 0o644, ME), TMP, Person(user=0, before=ME)),
    "software that a cluster's staff keeps": (
        place("/apps/bin/cc", 0o755, STAFF),
        place("/apps/bin", 0o775, STAFF),
        PERSON,
    ),
    "a directory that a project's group shares": (
        place("/project/fastinstall.toml", 0o664, STAFF),
        place("/project", 0o2775, 0),
        PERSON,
    ),
    "a runner for CI that opens /opt for everybody": (
        place("/opt/tools/bin/conda", 0o777, 0),
        place("/opt/tools/bin", 0o777, 0),
        PERSON,
    ),
    "a disk of Windows, where all modes are made up": (
        place("/mnt/c/images/fastinstall.toml", 0o777, ME),
        place("/mnt/c/images", 0o777, ME),
        PERSON,
    ),
    "a mounted checkout, seen from a container": (
        place("/checkout/fastinstall.toml", 0o644, ME),
        place("/checkout", 0o755, ME),
        Person(user=0),
    ),
    "files of users that a namespace does not know": (
        place("/scratch/fastinstall.toml", 0o644, 65534),
        place("/scratch", 0o1777, 65534),
        Person(user=0),
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_what_anybody_could_have_put_there_is_objected_to(case: str) -> None:
    assert explain_file_distrust(*PLANTED[case])


@pytest.mark.parametrize("case", TRUSTED)
def test_ordinary_machines_are_not_objected_to(case: str) -> None:
    assert not explain_file_distrust(*TRUSTED[case])


def test_path_is_searched_without_working_or_public_directories() -> None:
    modes = {"/usr/bin": 0o755, "/scratch": 0o1777, "/opt/tools/bin": 0o777, "/home/me/bin": 0o775}
    path = "/home/me/bin::/scratch:.:bin:/opt/tools/bin:/usr/bin:/gone:"
    assert keep_trusted_path_entries(path, modes) == "/home/me/bin:/opt/tools/bin:/usr/bin:/gone"
    assert keep_trusted_path_entries(path, modes, ["/opt/tools/bin"]) == "/home/me/bin:/usr/bin:/gone"


@pytest.mark.parametrize(
    ("mask", "careful"),
    [(0o000, 0o022), (0o020, 0o022), (0o022, 0o022), (0o002, 0o002), (0o007, 0o007), (0o077, 0o077)],
)
def test_nothing_is_made_world_writable_and_a_group_keeps_access(mask: int, careful: int) -> None:
    assert restrict_umask(mask) == careful
