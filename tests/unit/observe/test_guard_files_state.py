"""The state file: fastinstall and the hook read back what was written."""

from pathlib import Path

import pytest

from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import parse_state, render_state

NAME = "PIL/_imaging.cpython-311-x86_64-linux-gnu.so"
CORE = BuiltCore(
    path=NAME, size=1234567, mtime_ns=1_795_000_000_123_456_789, sha256="ab" * 32, simd_symbols=("Kernel",)
)


@pytest.fixture
def state(tmp_path: Path) -> str:
    """Return the text of a state file."""
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/_version.py").write_text('__version__ = "12.1.1"\n')
    return render_state(tmp_path, CORE, "12.1.1.post0")


@pytest.mark.parametrize(
    ("program", "kept"),
    [
        ("sh /srv/bootstrap.sh", "sh /srv/bootstrap.sh"),
        ("sh '/srv/my tools/bootstrap.sh'", "sh '/srv/my tools/bootstrap.sh'"),
        ("sh '/srv/two  blanks/bootstrap.sh'", "fastinstall"),
        ("$'/srv/a\\011b'", "$'/srv/a\\011b'"),
        ("/srv/\udcff", "fastinstall"),
        ("/srv/" + "a" * 4096, "fastinstall"),
    ],
)
def test_the_program_is_kept_if_a_shell_would_read_it_back(tmp_path: Path, program: str, kept: str) -> None:
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/_version.py").touch()
    text = render_state(tmp_path, CORE, "12.1.1", program)
    assert f"\nprogram {kept}\n" in text
    assert parse_state(text) is not None


def test_it_describes_core_and_version(state: str, tmp_path: Path) -> None:
    assert parse_state(state) == (NAME, CORE.sha256)
    data = [line for line in state.splitlines() if not line.startswith("#")]
    time = (tmp_path / "PIL/_version.py").stat().st_mtime_ns
    assert data == [
        "program fastinstall",
        "1",
        f"core {NAME} 1234567 1795000000123456789 {CORE.sha256}",
        f"version PIL/_version.py 23 {time}",
        "stack 12.1.1.post0 simd",
        "prefix ../../..",
    ]


def test_the_state_file_names_its_maker_and_how_to_remove_it(state: str) -> None:
    assert "Put here by fastinstall" in state
    assert "fastinstall guard remove --prefix" in state


def test_the_state_file_has_no_absolute_path(state: str) -> None:
    assert not any(word.startswith("/") for word in state.split())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n1\n", "\n2\n"),
        ("1234567", "many"),
        ("stack 12.1.1.post0 simd\n", ""),
        (" simd", ""),
        ("prefix ../../..\n", "prefix ../../..\nmore\n"),
    ],
)
def test_another_format_or_a_damaged_file_is_none(state: str, old: str, new: str) -> None:
    assert parse_state(state.replace(old, new)) is None
    assert parse_state("") is None
    assert parse_state("1\n") is None


def test_a_core_without_kernels_is_called_plain(state: str, tmp_path: Path) -> None:
    core = BuiltCore(path="PIL/_imaging.so", size=3, mtime_ns=5, sha256="cd" * 32, simd_symbols=())
    assert "simd" in state
    assert "stack 12.1.1 plain\n" in render_state(tmp_path, core, "12.1.1")
