"""A process as /proc shows it; a directory of files and links stands for /proc, whose processes are real elsewhere."""

from pathlib import Path, PurePosixPath

import pytest

from fastinstall.core.errors import UndeterminedError
from fastinstall.model.facts import LiveProcess
from fastinstall.observe.running_process import observe_process

PID = 4711


class Machine:
    """A root directory with one process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = root / "proc" / str(PID)
        self.place.mkdir(parents=True)
        self.lines: list[str] = []
        self.program = self.file("usr/bin/python3.11")
        (self.place / "exe").symlink_to(self.program)
        (self.place / "cwd").symlink_to(root / "srv")
        self.start(["/usr/bin/python3.11", "serve.py"])

    def file(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        return path

    def start(self, command: list[str], **variables: str) -> None:
        self._write("cmdline", command)
        self._write("environ", [f"{name}={value}" for name, value in variables.items()])

    def map(self, path: str, inode: int, mode: str = "r-xp") -> None:
        self.lines.append(
            f"7f00{len(self.lines):04x}0000-7f00{len(self.lines):04x}8000 {mode} 0 fe:00 {inode}   {path}"
        )
        (self.place / "maps").write_text("\n".join(self.lines) + "\n")

    def observe(self) -> LiveProcess:
        return observe_process(PID, self.root)

    def _write(self, name: str, words: list[str]) -> None:
        (self.place / name).write_bytes(b"".join(word.encode() + b"\0" for word in words))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.map("/usr/bin/python3.11", made.program.stat().st_ino)
    return made


def test_what_it_runs_and_was_started_with(machine: Machine) -> None:
    machine.start(["python", "a b"], LD_LIBRARY_PATH="/x:", LD_PRELOAD="y.so", GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2")
    seen = machine.observe()
    assert (seen.pid, seen.command, seen.root) == (PID, ("python", "a b"), PurePosixPath("/"))
    assert (seen.library_path, seen.preload, seen.tunables) == ("/x:", "y.so", "glibc.cpu.hwcaps=-AVX2")


def test_files_with_code_are_mapped_each_once_in_order(machine: Machine) -> None:
    for path in ("/b.so", "/a.so", "/b.so"):
        machine.map(path, 0)
    machine.map("/usr/lib/locale/locale-archive", 1, "r--p")
    machine.map("/stub.so", 1, "r--p")
    machine.map("[vdso]", 0)
    machine.map("", 0)
    assert machine.observe().mapped == tuple(map(PurePosixPath, ("/usr/bin/python3.11", "/b.so", "/a.so", "/stub.so")))


def test_a_file_that_is_as_it_was_is_not_replaced(machine: Machine) -> None:
    machine.map("/a.so", machine.file("a.so").stat().st_ino)
    assert machine.observe().replaced == ()


def test_files_without_a_name_or_with_another_behind_it_are_replaced(machine: Machine) -> None:
    machine.file("deleted.so")
    machine.map("/deleted.so (deleted)", 7)
    machine.map("/gone.so", 8)
    machine.map("/other.so", machine.file("other.so").stat().st_ino + 1)
    assert [path.name for path in machine.observe().replaced] == ["deleted.so", "gone.so", "other.so"]


def test_an_interpreter_is_known_by_what_it_was_called(machine: Machine) -> None:
    link = machine.root / "srv/env/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(machine.program)
    for command, variables in (
        (["/srv/env/bin/python"], {}),
        (["python", "serve.py"], {"PATH": "/nowhere:/srv/env/bin"}),
    ):
        machine.start(command, **variables)
        assert machine.observe().executable == PurePosixPath("/srv/env/bin/python")


def test_a_name_that_leads_to_another_program_is_not_believed(machine: Machine) -> None:
    machine.file("bin/sh")
    for command in (["/bin/sh"], ["a title of its own"], [""]):
        machine.start(command)
        assert machine.observe().executable == machine.program
    machine.start([])
    assert machine.observe().executable == machine.program


def test_a_process_that_is_not_there_is_an_error(machine: Machine) -> None:
    with pytest.raises(UndeterminedError, match="no process 4712") as caught:
        observe_process(PID + 1, machine.root)
    assert "pgrep" in (caught.value.hint or "")


def test_a_process_without_memory_is_an_error(machine: Machine) -> None:
    (machine.place / "maps").write_text("")
    with pytest.raises(UndeterminedError, match="has no memory"):
        machine.observe()
