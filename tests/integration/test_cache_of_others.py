"""A cache that other users can write to is refused before fastinstall creates or runs a file in it."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fastinstall.compilers.clang import COMPILER
from fastinstall.core.cache_directory import open_cache
from fastinstall.core.errors import ExitCode, RefusedError
from fastinstall.core.events import ignore

EVE, BOB = 12345, 12346
PLACES = ("x", "x/fastinstall", "x/fastinstall/toolchains", "x/fastinstall/toolchains/clang-1")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a directory like /tmp that every user may write to."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


@contextmanager
def acting_as(user: int) -> Iterator[None]:
    before = os.geteuid()
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(before)


def make(path: Path, owner: int, mode: int = 0o755) -> Path:
    path.mkdir(parents=True)
    path.chmod(mode)
    os.chown(path, owner, -1)
    return path


def program(directory: Path) -> Path:
    """Return a compiler that creates the file `it-ran` in the working directory when it runs."""
    path = directory / "cc"
    path.write_text("#!/bin/sh\ntouch it-ran\n")
    path.chmod(0o755)
    return path


def refusal(cache: Path, **variables: str) -> RefusedError:
    with pytest.raises(RefusedError) as told:
        open_cache(cache, variables)
    return told.value


@needs_root
@pytest.mark.parametrize("user", [0, BOB])
@pytest.mark.parametrize("whose", PLACES)
def test_a_cache_path_or_entry_owned_by_another_user_is_refused(shared: Path, whose: str, user: int) -> None:
    for name in PLACES:
        make(shared / name, EVE if name == whose else user)
    with acting_as(user):
        error = refusal(shared / "x/fastinstall")
    assert f"{shared / whose} (mode 0755, owner {EVE})" in error.message


@needs_root
def test_nothing_is_made_below_a_directory_of_another(shared: Path) -> None:
    make(shared / "x", EVE)
    (shared / "x/fastinstall").symlink_to(shared / "elsewhere")
    refusal(shared / "x/fastinstall")
    refusal(shared / "x/another/fastinstall")
    assert not (shared / "elsewhere").exists()
    assert not (shared / "x/another").exists()


@needs_root
def test_another_users_link_anywhere_on_the_path_is_refused(shared: Path) -> None:
    make(shared / "mine/fastinstall", 0)
    (shared / "theirs").symlink_to("mine")
    os.chown(shared / "theirs", EVE, -1, follow_symlinks=False)
    (shared / "link").symlink_to(shared / "theirs" / "fastinstall")
    assert f"{shared / 'theirs'} " in refusal(shared / "link").message


@needs_root
def test_a_cache_subdirectory_may_be_a_link_but_not_to_anothers(shared: Path) -> None:
    make(shared / "disk/toolchains", 0)
    make(shared / "x/toolchains", EVE)
    make(shared / "cache", 0)
    (shared / "cache/toolchains").symlink_to(shared / "disk/toolchains")
    assert open_cache(shared / "cache", {}) == shared / "cache"
    (shared / "cache/toolchains").unlink()
    (shared / "cache/toolchains").symlink_to(shared / "x/toolchains")
    assert f"{shared / 'x/toolchains'} " in refusal(shared / "cache").message


def test_a_cache_may_be_a_link_in_a_directory_open_to_everybody(shared: Path) -> None:
    (shared / "elsewhere").mkdir()
    (shared / "cache").symlink_to("elsewhere")
    assert open_cache(shared / "cache", {}) == shared / "cache"


@needs_root
def test_the_cache_of_the_user_who_called_sudo_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, EVE, -1)
    error = refusal(tmp_path / "new", SUDO_UID=str(EVE))
    assert "ran sudo" in error.message
    assert "sudo -H" in (error.hint or "")


def test_an_open_cache_is_refused_and_the_hinted_place_is_taken(shared: Path) -> None:
    error = refusal(shared)
    named = Path((error.hint or "").partition("FASTINSTALL_CACHE_DIR=")[2].split()[0])
    assert open_cache(named, {}) == named
    assert stat.S_IMODE(named.stat().st_mode) == 0o700


@needs_root
def test_the_hint_names_no_place_below_that_of_another(shared: Path) -> None:
    make(shared / "x", EVE)
    hint = refusal(shared / "x/fastinstall").hint or ""
    assert "FASTINSTALL_CACHE_DIR=" in hint
    assert str(shared / "x") not in hint


def test_an_open_cache_inside_a_private_directory_is_accepted(shared: Path) -> None:
    make(shared / "door/cache", os.geteuid(), 0o777)
    (shared / "door").chmod(0o700)
    assert open_cache(shared / "door/cache", {}) == shared / "door/cache"


def test_the_users_own_group_is_accepted_but_a_shared_one_is_not(shared: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to a group")
    make(shared / "own", 0, 0o775)
    assert open_cache(shared / "own/cache", {})
    make(shared / "staff", 0, 0o775)
    os.chown(shared / "staff", 0, 50)
    assert "its group" in refusal(shared / "staff/cache").message


@needs_root
def test_anothers_cache_is_refused_before_any_download_or_run(shared: Path) -> None:
    make(shared / "x", EVE)
    program(make(shared / "x/fastinstall/toolchains/clang-1", EVE))
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(shared / "home"), "XDG_CACHE_HOME": str(shared / "x"), "CI": "1"}
    argv = (sys.executable, "-m", "fastinstall", "build", "-o", shared / "out", "--offline", "--json")
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == ExitCode.REFUSED, done.stderr
    assert str(shared / "x") in json.loads(done.stdout)["message"]
    assert not (shared / "out").exists()


@pytest.fixture
def clang(shared: Path) -> Path:
    """Return a wheel with a fake Zig, which fastinstall would unpack and run as clang."""
    wheel = shared / "ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ziglang/zig", "#!/bin/sh\necho clang\n")
    return wheel


@pytest.mark.parametrize("name", ["cc", "ar", "ziglang/zig", "ziglang/lib/include/stddef.h"])
def test_a_compiler_that_was_altered_is_unpacked_again(shared: Path, clang: Path, name: str) -> None:
    program = COMPILER.prepare(clang, make(shared / "cache", os.geteuid()), ignore)
    altered = program.parent / name
    altered.parent.mkdir(parents=True, exist_ok=True)
    altered.write_text(f"#!/bin/sh\ntouch {shared}/it-ran\n")
    assert COMPILER.prepare(clang, shared / "cache", ignore) == program
    assert not altered.exists() or "it-ran" not in altered.read_text()


def test_a_compiler_that_somebody_put_in_its_place_is_not_run(shared: Path, clang: Path) -> None:
    elsewhere = COMPILER.prepare(clang, make(shared / "elsewhere", os.geteuid()), ignore)
    planted = shared / "cache" / elsewhere.parent.relative_to(shared / "elsewhere")
    planted.mkdir(parents=True)
    program(planted)
    assert COMPILER.prepare(clang, shared / "cache", ignore) == planted / "cc"
    assert "it-ran" not in (planted / "cc").read_text()


@needs_root
def test_a_compilers_own_cache_is_not_taken_from_another_user(shared: Path, clang: Path) -> None:
    kept = COMPILER.prepare(clang, make(shared / "cache", 0), ignore).parent / "cache/o/crt1.o"
    kept.parent.mkdir(parents=True)
    kept.write_text("planted")
    COMPILER.prepare(clang, shared / "cache", ignore)
    assert kept.exists()
    os.chown(kept, EVE, -1)
    COMPILER.prepare(clang, shared / "cache", ignore)
    assert not kept.exists()
