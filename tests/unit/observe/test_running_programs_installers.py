"""Programs that change packages in an environment: command lines of real tools, in a stand-in for /proc."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fastinstall.observe.running_programs import observe_concurrent_installers

CASES = json.loads((Path(__file__).parents[2] / "cases/rivals/commands.json").read_text(encoding="utf-8"))
PID = 4_194_305
"""A number that no process has: the kernel's process numbers end at 2**22."""


class Machine:
    """A machine with environments, and a stand-in for /proc that lists its processes."""

    def __init__(self, root: Path) -> None:
        self.processes = root / "proc"
        self.processes.mkdir()
        base = root / "miniforge3"
        self.places = {
            "venv": root / "venv",
            "project": root / "work/project/.venv",
            "conda": base / "envs/sci",
            "base": base,
        }
        self.names = {"root": base, "project": root / "work/project"}
        for kind, place in self.places.items():
            (place / "bin").mkdir(parents=True, exist_ok=True)
            self._mark(place, "conda" if kind in ("conda", "base") else "venv")
        self._mark(root / "venv/inner", "venv")

    def start(self, words: list[str], directory: str, variables: dict[str, str], number: int = PID) -> None:
        place = self.processes / str(number)
        place.mkdir()
        entries = [f"{name}={value}" for name, value in variables.items()]
        for name, content in (("cmdline", words), ("environ", entries)):
            (place / name).write_bytes(b"".join(word.encode() + b"\0" for word in content))
        (place / "cwd").symlink_to(directory)
        (place / "stat").write_text(f"{number} (a (strange) name) S 1 1 1 0")

    def fill(self, case: dict[str, Any]) -> Path:
        """Add the process of a case to the machine; return the environment that the case is about."""
        environment = self.places[case["environment"]]
        names = {**self.names, "env": environment}

        def filled(text: str) -> str:
            for name, path in names.items():
                text = text.replace(f"{{{name}}}", str(path))
            return text

        words = [filled(word) for word in case["words"]]
        variables = {name: filled(value) for name, value in case.get("variables", {}).items()}
        self.start(words, filled(case["directory"]), variables)
        return environment

    def _mark(self, place: Path, kind: str) -> None:
        (place / "bin").mkdir(parents=True, exist_ok=True)
        for name in ("python", "python3.11"):
            (place / "bin" / name).touch(0o755)
        if kind == "conda":
            (place / "conda-meta").mkdir()
        else:
            (place / "pyvenv.cfg").touch()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_who_is_a_rival(machine: Machine, case: dict[str, Any]) -> None:
    environment = machine.fill(case)
    found = observe_concurrent_installers(environment, machine.processes)
    assert [installer.process for installer in found] == ([PID] if case["is_rival"] else [])


def test_an_environment_is_known_by_every_name_that_leads_to_it(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "venv")
    machine.start([f"{tmp_path}/link/bin/python", "-m", "pip", "install", "x"], "/", {})
    machine.start(["uv", "pip", "install", "x"], "/", {"VIRTUAL_ENV": str(tmp_path / "link")}, PID + 1)
    for name in ("venv", "link"):
        assert [installer.tool for installer in observe_concurrent_installers(tmp_path / name, machine.processes)] == [
            "pip",
            "uv",
        ]


def test_an_installer_is_shown_as_invoked_but_without_passwords(machine: Machine) -> None:
    words = ["uv", "pip", "install", "--index-url", "https://me:hunter2@example.org/simple", "a b"]
    machine.start(words, "/", {"VIRTUAL_ENV": str(machine.places["venv"])})
    (installer,) = observe_concurrent_installers(machine.places["venv"], machine.processes)
    assert (installer.process, installer.tool) == (PID, "uv")
    assert installer.action.startswith("uv pip install --index-url https://")
    assert installer.action.endswith("'a b'")
    assert "hunter2" not in installer.action


@pytest.mark.parametrize("family", ["ourselves", "what has started us", "what we have started"])
def test_our_own_family_is_no_rival(machine: Machine, family: str) -> None:
    command, environment = ["uv", "pip", "install", "x"], machine.places["venv"]
    numbers = {"ourselves": os.getpid(), "what has started us": PID, "what we have started": PID}
    machine.start(command, "/", {"VIRTUAL_ENV": str(environment)}, numbers[family])
    if family != "ourselves":
        (machine.processes / str(os.getpid())).mkdir()
    ours = machine.processes / str(os.getpid()) / "stat"
    theirs = machine.processes / str(PID) / "stat"
    if family == "what has started us":
        ours.write_text(f"{os.getpid()} (python) S {PID} 1 1 0")
    elif family == "what we have started":
        theirs.write_text(f"{PID} (uv) S {os.getpid()} 1 1 0")
    assert observe_concurrent_installers(environment, machine.processes) == ()


def test_vanished_processes_and_those_of_other_users_are_skipped(machine: Machine) -> None:
    machine.start(["/srv/other/python", "-m", "pip", "install", "x"], "/", {})
    (machine.processes / str(PID) / "environ").unlink()
    for name in ("1", "self", "sys"):
        (machine.processes / name).mkdir()
    assert observe_concurrent_installers(machine.places["venv"], machine.processes) == ()
    assert observe_concurrent_installers(machine.places["venv"], machine.processes / "nowhere") == ()


def test_another_user_is_told_by_the_command_line_alone(machine: Machine) -> None:
    machine.start([f"{machine.places['venv']}/bin/python", "-m", "pip", "install", "x"], "/", {})
    for name in ("environ", "cwd"):
        (machine.processes / str(PID) / name).unlink()
    assert [
        installer.process for installer in observe_concurrent_installers(machine.places["venv"], machine.processes)
    ] == [PID]


@pytest.mark.parametrize("program", ["./venv/bin/python", "venv/bin/python"])
def test_relative_paths_start_in_the_directory_of_the_process(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    elsewhere = tmp_path / "another"
    (elsewhere / "venv/bin").mkdir(parents=True)
    for name in ("pyvenv.cfg", "bin/python"):
        (elsewhere / "venv" / name).touch(0o755)
    machine.start([program, "-m", "pip", "install", "pillow"], str(elsewhere), {})
    monkeypatch.chdir(tmp_path)  # in this directory, the same relative path leads to another environment
    assert observe_concurrent_installers(machine.places["venv"], machine.processes) == ()
    assert len(observe_concurrent_installers(elsewhere / "venv", machine.processes)) == 1


def test_names_that_are_no_text_do_no_harm(machine: Machine) -> None:
    strange = os.fsdecode(b"/srv/\xff")
    machine.start(["uv", "sync", "--project", "x"], "/srv", {})
    (machine.processes / str(PID) / "cmdline").write_bytes(b"uv\0sync\0--project\0" + os.fsencode(strange) + b"\0")
    assert observe_concurrent_installers(machine.places["venv"], machine.processes) == ()
