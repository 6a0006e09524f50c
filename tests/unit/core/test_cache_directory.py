"""Which caches nobody but the user can fill: examples that other users could fill, and examples that they could not."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import pytest

from fastinstall.core.cache_directory import PathStep, find_distrust
from fastinstall.core.surroundings import Person, TrustedPath

ME, EVE, STAFF, NOBODY = 1000, 1001, 1002, 65534
PERSON, ROOT = Person(user=ME), Person(user=0)


def step(path: str, mode: int, owner: int = 0, **facts: bool) -> PathStep:
    return PathStep(place=TrustedPath(path=PurePosixPath(path), mode=mode, owner=owner), **facts)


SLASH, HOME = step("/", 0o755), step("/home", 0o755)
MINE = step("/home/me", 0o755, ME)
SCRATCH = step("/scratch", 0o1777)
HOST = step("/github/home", 0o755, EVE, is_mounted=True, has_account=False)

OURS: dict[str, tuple[Sequence[PathStep], Person]] = {
    "at home": ((SLASH, HOME, MINE, step("/home/me/.cache", 0o755, ME)), PERSON),
    "where the user's own group may write": ((SLASH, HOME, step("/home/me", 0o775, ME)), PERSON),
    "one's own below a place like /tmp": ((SLASH, SCRATCH, step("/scratch/cache", 0o700, ME)), PERSON),
    "made by root": ((SLASH, step("/var/cache", 0o755), step("/var/cache/f", 0o755)), PERSON),
    "behind a link of one's own": ((SLASH, SCRATCH, step("/scratch/link", 0, ME, is_link=True)), PERSON),
    "open, behind a closed door": ((SLASH, step("/root", 0o700), step("/root/disk", 0o777)), ROOT),
    "below a group's directory with a sticky bit": (
        (SLASH, step("/project", 0o3775, 0, is_shared=True), step("/project/me", 0o700, ME)),
        PERSON,
    ),
    "mounted into a container": (
        (SLASH, step("/root", 0o700), step("/root/.cache", 0o755, ME, is_mounted=True)),
        ROOT,
    ),
    "in a home that a runner for CI mounts into a container": (
        (SLASH, HOST, step("/github/home/.cache", 0o755, EVE, has_account=False)),
        ROOT,
    ),
    "in a user namespace, which does not know root": (
        (step("/", 0o755, NOBODY), step("/home", 0o755, NOBODY), step("/home/me", 0o755)),
        ROOT,
    ),
}

FOREIGN: dict[str, tuple[Sequence[PathStep], Person, str]] = {
    "made by another": ((SLASH, SCRATCH, step("/scratch/cache", 0o755, EVE)), PERSON, "/scratch/cache"),
    "below what another made": (
        (SLASH, SCRATCH, step("/scratch/x", 0o755, EVE), step("/scratch/x/cache", 0o755, ME)),
        PERSON,
        "/scratch/x",
    ),
    "the same for root": ((SLASH, SCRATCH, step("/scratch/x", 0o755, EVE)), ROOT, "/scratch/x"),
    "behind a link of another": (
        (SLASH, SCRATCH, step("/scratch/link", 0, EVE, is_link=True)),
        PERSON,
        "/scratch/link",
    ),
    "in another's home": ((SLASH, HOME, step("/home/eve", 0o755, EVE, is_mounted=True)), ROOT, "/home/eve"),
    "open": ((SLASH, step("/cache", 0o777)), PERSON, "/cache"),
    "a place like /tmp itself": ((SLASH, SCRATCH), PERSON, "/scratch"),
    "below an open directory": ((SLASH, step("/open", 0o777), step("/open/me", 0o700, ME)), PERSON, "/open"),
    "shared by a group": ((SLASH, step("/project", 0o2775, ME, is_shared=True)), PERSON, "/project"),
    "of a cluster's staff": ((SLASH, step("/apps", 0o755, STAFF), step("/apps/me", 0o700, ME)), PERSON, "/apps"),
    "of who called sudo": ((SLASH, HOME, MINE), Person(user=0, before=ME), "/home/me"),
    "mounted, and of who called sudo": (
        (SLASH, step("/home/me", 0o755, ME, is_mounted=True, has_account=False)),
        Person(user=0, before=ME),
        "/home/me",
    ),
    "planted in a user namespace": (
        (step("/", 0o755, NOBODY), step("/x", 0o755, NOBODY), step("/x/cache", 0o755, NOBODY)),
        ROOT,
        "/x/cache",
    ),
}


@pytest.mark.parametrize("case", OURS)
def test_a_cache_is_used_where_nobody_else_can_fill_it(case: str) -> None:
    assert find_distrust(*OURS[case]) is None


@pytest.mark.parametrize("case", FOREIGN)
def test_a_cache_is_not_used_where_others_could_fill_it(case: str) -> None:
    way, person, decisive = FOREIGN[case]
    found = find_distrust(way, person)
    assert found is not None
    assert str(found[0].path) == decisive


def test_entries_belong_to_the_user_or_whoever_mounted_the_cache() -> None:
    way = (SLASH, HOME, MINE)
    assert find_distrust(way, PERSON, (step("/home/me/toolchains", 0o755, ME),)) is None
    assert find_distrust(way, PERSON, (step("/home/me/toolchains", 0o755, EVE),)) is not None
    assert find_distrust(way, PERSON, (step("/home/me/toolchains", 0o1777, ME),)) is not None
    assert find_distrust((SLASH, HOST), ROOT, (step("/github/home/toolchains", 0o755, EVE),)) is None
    assert find_distrust((SLASH, HOST), ROOT, (step("/github/home/toolchains", 0o755, STAFF),)) is not None
