"""Verbs that change a real stack: they report their changes, and name programs that still use the old stack."""

import mmap
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.environments.real import Environments
from support.sandbox import UNREACHABLE, Venv, tree_hash

from fastinstall.model.results import OutdatedProgram
from fastinstall.observe.running_programs import find_outdated_programs

pytest_plugins = ("support.environments.fixtures",)

HOLD = """\
import mmap, sys
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print("ready", flush=True)
input()
"""
IMPORT = "import PIL._imaging; print('ready', flush=True); input()"


@contextmanager
def holding(file: Path) -> Iterator[int]:
    """Start a process that has a file mapped; yield its process ID."""
    words = (sys.executable, "-c", HOLD, str(file))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate("\n")


def make_file(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * mmap.PAGESIZE)
    return file


@pytest.mark.parametrize("name", ["PIL/_imaging.so", "pillow.libs/libwebp.so.7", "Pillow.libs/libwebp.so.7"])
def test_a_program_using_files_moved_aside_or_deleted_is_named(tmp_path: Path, name: str) -> None:
    file = make_file(tmp_path / "lib/python3.11/site-packages" / name)
    with holding(file) as pid:
        assert find_outdated_programs(tmp_path) == (), "what is in place is what the next import gets"
        aside = tmp_path / "share/fastinstall/tx/1/aside" / name
        aside.parent.mkdir(parents=True)
        file.rename(aside)
        (found,) = find_outdated_programs(tmp_path)
        assert found == OutdatedProgram(pid=pid, name=Path(f"/proc/{pid}/comm").read_text().strip())
        aside.unlink()
        assert [each.pid for each in find_outdated_programs(tmp_path)] == [pid]
        assert find_outdated_programs(tmp_path, seconds=-1.0) == ()
    assert find_outdated_programs(tmp_path) == ()


def test_a_file_of_another_package_is_nobodys_reason_to_restart(tmp_path: Path) -> None:
    file = make_file(tmp_path / "lib/python3.11/site-packages/numpy/_core.so")
    with holding(file):
        file.unlink()
        assert find_outdated_programs(tmp_path) == ()


@contextmanager
def importing(venv: Venv) -> Iterator[int]:
    """Start a program of the environment that has imported PIL; yield its process ID."""
    with subprocess.Popen(
        (venv.python, "-c", IMPORT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate("\n")


def test_a_repair_and_a_rollback_name_programs_on_the_old_pillow(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    with importing(venv) as first:
        (venv.site_packages / "PIL/Image.py").unlink()
        fixed = sandbox.cli("doctor", "--fix", "--yes", "--json", "--prefix", venv.prefix, env=UNREACHABLE)
        assert fixed.exit_code == 0, fixed.text
        assert fixed.document["changed"] is True
        assert [each["pid"] for each in fixed.document["restart"]] == [first]
        jsonschema.validate(fixed.document, SCHEMAS["doctor"]())
    with importing(venv) as second:
        back = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix, env=UNREACHABLE)
        assert back.exit_code == 0, back.text
        assert f"restart these programs, which still use the previous Pillow: {second} " in back.stderr


def test_a_changing_verb_says_whether_it_changed_anything(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox

    def changed(schema: str, *words: str) -> object:
        result = sandbox.cli(*words, "--yes", "--json", "--prefix", venv.prefix, env=UNREACHABLE)
        assert result.exit_code == 0, result.text
        jsonschema.validate(result.document, SCHEMAS[schema]())
        return result.document["changed"]

    def is_silent(*words: str) -> bool:
        result = sandbox.cli(*words, "--yes", "--quiet", "--prefix", venv.prefix, env=UNREACHABLE)
        assert result.exit_code == 0, result.text
        return result.stdout + result.stderr == ""

    for schema, *words in (
        ("receipt", "setup"),
        ("doctor", "doctor", "--fix"),
        ("guard", "guard", "install"),
        ("accepted", "guard", "accept"),
        ("rollback", "rollback", "--interrupted"),
    ):
        assert changed(schema, *words) is False, words
        assert is_silent(*words), words
    assert changed("guard", "guard", "remove") is True
    assert changed("guard", "guard", "remove") is False
    assert is_silent("guard", "remove")
    assert changed("guard", "guard", "install") is True
    assert changed("rollback", "rollback") is True


def test_what_guard_remove_prints_to_undo_it_undoes_that_alone(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    before = tree_hash(venv.prefix / "lib")
    removed = sandbox.cli("guard", "remove", "--yes", "--prefix", venv.prefix)
    assert tree_hash(venv.prefix / "lib") != before, removed.text
    (command,) = (line for line in removed.stderr.splitlines() if line.startswith("undo: "))
    _, *words = shlex.split(command.removeprefix("undo: "))
    undone = sandbox.cli(*words, "--yes")
    assert undone.exit_code == 0, undone.text
    assert tree_hash(venv.prefix / "lib") == before
