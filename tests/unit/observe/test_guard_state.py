"""The state file: what is written is what is read, by us and by the hook."""

from pathlib import Path

import pytest

from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import GuardTarget, guard_target, parse_state, render_state

TARGET = GuardTarget(
    core="PIL/_imaging.cpython-311-x86_64-linux-gnu.so",
    core_size=1234567,
    core_mtime_ns=1_795_000_000_123_456_789,
    core_sha256="ab" * 32,
    version_size=77,
    version_mtime_ns=1_795_000_000_987_654_321,
    stack_version="12.1.1.post0",
    simd=True,
)


def test_a_target_survives_its_state_file() -> None:
    assert parse_state(render_state(TARGET)) == TARGET


def test_the_state_file_names_its_maker_and_how_to_remove_it() -> None:
    assert "Put here by fastinstall" in render_state(TARGET)
    assert "fastinstall guard remove --prefix" in render_state(TARGET)


def test_the_state_file_has_no_absolute_path() -> None:
    assert not any(word.startswith("/") for word in render_state(TARGET).split())


def test_the_first_line_of_data_is_the_format() -> None:
    data = [line for line in render_state(TARGET).splitlines() if not line.startswith("#")]
    assert data[0] == "1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1\n",
        render_state(TARGET).replace("\n1\n", "\n2\n"),
        render_state(TARGET).replace("1234567", "many"),
        render_state(TARGET).replace("stack 12.1.1.post0 simd\n", ""),
        render_state(TARGET).replace(" simd", ""),
        render_state(TARGET) + "more\n",
    ],
)
def test_another_format_or_a_damaged_file_is_none(text: str) -> None:
    assert parse_state(text) is None


def test_a_target_is_described_from_a_tree(tmp_path: Path) -> None:
    version = tmp_path / "PIL" / "_version.py"
    version.parent.mkdir()
    version.write_text('__version__ = "12.1.1"\n')
    core = BuiltCore(path="PIL/_imaging.so", size=3, mtime_ns=5, sha256="cd" * 32, simd_symbols=())
    target = guard_target(tmp_path, core, "12.1.1")
    assert (target.version_size, target.version_mtime_ns) == (23, version.stat().st_mtime_ns)
    assert (target.core, target.core_size, target.simd) == ("PIL/_imaging.so", 3, False)
