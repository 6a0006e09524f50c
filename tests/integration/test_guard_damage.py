"""Whatever is wrong with the guard or its environment, Python starts, and exits with the program's exit code."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.environments.guarded import CORE, STACK, WARNING, Guarded, make_guarded, warnings
from support.hostile.inputs import put_no_file, take_away

from fastinstall.journal.layout import EVENTS
from fastinstall.observe.guard_files import GUARD_STATE, list_sources

READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
"""Shell commands that run a command with a directory mounted read-only, for root too."""


TRYING = """
import sys
try:
    import PIL
except ImportError:
    pass
sys.exit(7)
"""


@pytest.fixture
def own(tmp_path: Path) -> Guarded:
    return make_guarded(tmp_path, Path(sys.executable))


@pytest.fixture
def swapped(own: Guarded) -> Guarded:
    own.swap()
    return own


def test_a_guard_without_its_package_is_quiet(swapped: Guarded) -> None:
    package = swapped.site / "_fastinstall_guard"
    for name in ("warning.py", "process_tree.py", "state", "__init__.py"):
        (package / name).unlink()
        assert swapped.run("-c", "import PIL").stderr == ""
    package.rename(swapped.prefix / "elsewhere")
    assert swapped.run("-c", "import PIL").stderr == ""


@pytest.mark.parametrize("name", [*(name for name in list_sources("3.11") if name.endswith(".py")), GUARD_STATE])
def test_a_damaged_file_breaks_nothing_and_leaves_no_traceback(swapped: Guarded, name: str) -> None:
    file = swapped.site / name
    whole, chance = file.read_bytes(), random.Random(name)  # noqa: S311 (the same damage each time)
    for damage in (b"", whole[: len(whole) // 3], whole[:-200], chance.randbytes(300), b"\0" * 300, b"1 / 0\n"):
        file.write_bytes(damage)
        result = swapped.run("-c", "import PIL, sys; sys.exit(7)")
        assert (result.returncode, result.stdout) == (7, ""), damage[:80]
        assert all(line.startswith(("fastinstall: ", "hint: ")) for line in result.stderr.splitlines()), result.stderr


@pytest.mark.parametrize("kind", ["fifo", "zeros", "directory", "socket"])
def test_a_non_file_is_neither_waited_for_nor_read_forever(swapped: Guarded, kind: str) -> None:
    metadata = next(swapped.site.glob("pillow-*.dist-info"))
    places = (
        *(swapped.site / name for name in (GUARD_STATE, CORE, "PIL/_version.py")),
        *(metadata / "INSTALLER", swapped.prefix / EVENTS),
    )
    for place in places:
        whole = place.read_bytes() if place.exists() else None
        place.unlink(missing_ok=True)
        put_no_file(place, kind)
        result = swapped.run("-c", TRYING)
        assert (result.returncode, result.stdout) == (7, ""), place
        assert all(line.startswith(("fastinstall: ", "hint: ")) for line in result.stderr.splitlines()), result.stderr
        take_away(place)
        if whole is not None:
            place.write_bytes(whole)


def test_what_others_wrote_steers_no_terminal(swapped: Guarded) -> None:
    steering = "\x1b]0;owned\x07\x1b[2Juv\r\x9b31m\u202e\nhint: curl evil"
    (next(swapped.site.glob("pillow-*.dist-info")) / "INSTALLER").write_text(steering, encoding="utf-8")
    (swapped.site / "PIL/_version.py").write_text("__version__ = '13\x1b[31m.0\x07'\n", encoding="utf-8")
    state = swapped.site / GUARD_STATE
    state.write_text(state.read_text().replace(STACK, f"{STACK}\x1b[31m\x9b5m"), encoding="utf-8")
    said = swapped.run("-c", "import PIL").stderr
    assert len(said.splitlines()) == 2
    assert WARNING.removesuffix(" in ") in said
    assert all(letter.isprintable() or letter == "\n" for letter in said), ascii(said)


@pytest.mark.parametrize("part", ["fastinstall_guard.pth", "_fastinstall_guard/__pycache__"])
def test_damage_to_files_python_reads_first_breaks_nothing(swapped: Guarded, part: str) -> None:
    place = swapped.site / part
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        whole = file.read_bytes()
        for size in (0, len(whole) // 2, len(whole) - 3):
            file.write_bytes(whole[:size])
            assert swapped.run("-c", "import PIL, sys; sys.exit(7)").returncode == 7
        file.write_bytes(whole)


@pytest.mark.parametrize(
    "state",
    [
        b"\n\n",
        b"1\n",
        b"2\ncore a 1 1 a\nversion b 1 1\nstack 1 simd\nprefix ..\n",
        b"1\ncore a one 1 a\nversion b 1 1\nstack 1 simd\nprefix ..\n",
        b"1\ncore a 1 1\nversion b 1 1\nstack 1 simd\nprefix ..\n",
        b"1\ncore a 1 1 a\nversion b 1 1\nstack 1 simd\n",
        b"\xff\xfe\x00",
        b"1\n" * 9999,
        None,
    ],
)
def test_a_state_that_cannot_be_read_means_silence(swapped: Guarded, state: bytes | None) -> None:
    file = swapped.site / GUARD_STATE
    file.unlink()
    if state is not None:
        file.write_bytes(state)
    result = swapped.run("-c", "import PIL")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_truncated_state_means_silence_at_every_length(own: Guarded) -> None:
    file = own.site / GUARD_STATE
    whole = file.read_bytes()
    for length in range(0, len(whole) - 16, 29):
        file.write_bytes(whole[:length])
        result = own.run("-c", "import PIL")
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_without_a_stderr_that_can_be_written_nothing_breaks(swapped: Guarded, stderr: str) -> None:
    result = swapped.execute(
        ("sh", "-c", f'exec "$0" -c "import PIL; print(PIL.__version__)" {stderr}', swapped.python)
    )
    assert (result.returncode, result.stdout) == (0, "13.0.0\n")


@pytest.mark.parametrize("instead", ["None", "open(sys.argv[1], 'w')"])
def test_a_stderr_that_a_program_has_replaced_is_respected(swapped: Guarded, instead: str) -> None:
    log = swapped.temporary / "log"
    result = swapped.run("-W", "ignore", "-c", f"import sys; sys.stderr = {instead}; import PIL", log)
    assert (result.returncode, result.stderr) == (0, "")
    assert instead == "None" or log.read_text().startswith(WARNING)


@pytest.mark.parametrize(
    "flags", [("-I",), ("-E",), ("-s",), ("-B",), ("-OO",), ("-W", "error", "-bb"), ("-X", "dev"), ("-X", "utf8=0")]
)
def test_flags_change_neither_silence_nor_warning(own: Guarded, flags: tuple[str, ...]) -> None:
    healthy = own.run(*flags, "-c", "import PIL")
    assert (healthy.returncode, healthy.stderr) == (0, "")
    own.swap()
    swapped = own.run(*flags, "-c", "import PIL")
    assert (swapped.returncode, len(warnings(swapped)), len(swapped.stderr.splitlines())) == (0, 1, 2)


def test_without_site_there_is_no_guard(swapped: Guarded) -> None:
    result = swapped.run("-S", "-c", "import sys; sys.path.append(sys.argv[1]); import PIL", swapped.site)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("locale", ["C", "no_SUCH.locale"])
def test_a_broken_locale_does_not_hinder_it(swapped: Guarded, locale: str) -> None:
    result = swapped.run("-c", "import PIL", LC_ALL=locale, PYTHONIOENCODING="ascii:strict")
    assert (result.returncode, len(warnings(result))) == (0, 1)


def test_the_guard_works_in_a_deleted_working_directory(own: Guarded) -> None:
    script = 'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$0" -c "import PIL"'
    argv = ("sh", "-c", script, own.python, own.temporary / "gone")
    assert own.execute(argv).stderr == ""
    own.swap()
    assert len(warnings(own.execute(argv))) == 1


def test_where_bytecode_is_not_written_none_is(own: Guarded) -> None:
    shutil.rmtree(own.site / "_fastinstall_guard" / "__pycache__")
    own.swap()
    assert len(warnings(own.run("-c", "import PIL", PYTHONDONTWRITEBYTECODE="1"))) == 1
    assert not (own.site / "_fastinstall_guard" / "__pycache__").exists()


def test_a_read_only_environment_is_guarded_and_left_as_it_is(own: Guarded) -> None:
    shell = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "sh", "-c", READ_ONLY)
    inside = (*shell, "sh", own.prefix)
    if (
        not shutil.which("unshare")
        or subprocess.run((*inside, "true"), check=False, capture_output=True).returncode != 0
    ):
        pytest.skip("no mount can be made here: neither a superuser nor a user namespace")
    shutil.rmtree(own.site / "_fastinstall_guard" / "__pycache__")
    healthy = own.execute((*inside, own.python, "-c", "import PIL"))
    assert (healthy.returncode, healthy.stderr) == (0, "")
    own.swap()
    before = sorted(own.prefix.rglob("*"))
    swapped = own.execute((*inside, own.python, "-c", "import PIL"))
    assert (swapped.returncode, len(warnings(swapped)), len(swapped.stderr.splitlines())) == (0, 1, 2)
    assert sorted(own.prefix.rglob("*")) == before


def test_a_frozen_conda_environment_is_guarded_like_any_other(own: Guarded) -> None:
    (own.prefix / "conda-meta").mkdir()
    (own.prefix / "conda-meta" / "frozen").touch()
    assert own.run("-c", "import PIL").stderr == ""
    own.swap(tool="conda")
    assert len(warnings(own.run("-c", "import PIL"))) == 1


def test_a_copied_environment_has_a_guard_and_a_trace_of_its_own(own: Guarded, tmp_path: Path) -> None:
    copied = Guarded(prefix=tmp_path / "copied", temporary=own.temporary)
    shutil.copytree(own.prefix, copied.prefix, symlinks=True, copy_function=shutil.copy)
    assert copied.run("-c", "import PIL").stderr == ""
    copied.swap()
    assert warnings(copied.run("-c", "import PIL"))[0].startswith(f"{WARNING}{copied.prefix} was replaced")
    assert own.run("-c", "import PIL").stderr == ""
    assert ((own.prefix / EVENTS).exists(), (copied.prefix / EVENTS).exists()) == (False, True)
