"""Commands and their children die with fastinstall, however it dies; ended commands' groups are not signalled."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machine.processes import lasting_command_lines

from fastinstall.core import orphans
from fastinstall.core.lock import lock_environment
from fastinstall.core.process import run
from fastinstall.journal.rollback import recover
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import EnvironmentHistory, UnfinishedRun

_STARTS = """
import sys
from fastinstall.core.process import run
for seconds in ("0", "0", "600"):
    run(("/bin/sh", "-c", f"sleep {seconds} & sleep 0.2; echo $! >> $0; wait", sys.argv[1]), **eval(sys.argv[2]))
"""
"""Runs three commands, of which two end; each starts a child and records the child's process number."""


@pytest.fixture
def numbers(tmp_path: Path) -> Iterator[Path]:
    """Yield a file for process IDs; at the end, kill the processes in it that still run."""
    file = tmp_path / "numbers"
    yield file
    for number in _read(file):
        if _runs(number):
            os.kill(number, signal.SIGKILL)


def _read(file: Path) -> list[int]:
    return [int(word) for word in file.read_text("ascii").split()] if file.exists() else []


def _runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _wait_until(condition: object, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.01)
    return bool(condition())  # type: ignore[operator]


def _kill_while_running(numbers: Path, keywords: str = "{}") -> int:
    """Kill a process while its third command runs; return the process ID of that command's child."""
    words = (sys.executable, "-c", _STARTS, str(numbers), keywords)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as parent:
        assert _wait_until(lambda: len(_read(numbers)) == 3)
        child = _read(numbers)[-1]
        assert _runs(child)
        parent.kill()
    return child


def test_a_grandchild_dies_with_a_killed_parent(numbers: Path) -> None:
    child = _kill_while_running(numbers)
    assert _wait_until(lambda: not _runs(child))


def test_a_command_with_joined_output_dies_too(numbers: Path) -> None:
    child = _kill_while_running(numbers, "{'on_line': print}")
    assert _wait_until(lambda: not _runs(child))


def test_a_package_manager_may_finish(numbers: Path) -> None:
    child = _kill_while_running(numbers, "{'outlives_us': True}")
    assert not _wait_until(lambda: not _runs(child), 0.5)


def test_a_forked_copy_ends_its_own_commands(numbers: Path) -> None:
    run(("/bin/true",))  # starts the shell that watches this process; the fork must start another shell
    copy = os.fork()
    if copy == 0:
        try:
            words = ("/bin/sh", "-c", "sleep 600 & echo $!; wait")
            # `on_line` is called only after the command is registered
            run(words, on_line=lambda number: print(number, file=numbers.open("w")))
        finally:
            os._exit(1)
    assert _wait_until(lambda: len(_read(numbers)) == 1)
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
    assert _wait_until(lambda: not _runs(_read(numbers)[0]))


def test_groups_that_were_released_are_left_alone() -> None:
    sleeping = [subprocess.Popen(("/bin/sleep", "600"), start_new_session=True) for _ in range(3)]
    program = "from fastinstall.core import orphans\nimport sys\n"
    program += "for number in sys.argv[1:]: orphans.register_group(int(number))\n"
    program += "orphans.release_group(int(sys.argv[2]))\norphans.release_group(1 << 30)\n"
    try:
        subprocess.run((sys.executable, "-c", program, *(str(each.pid) for each in sleeping)), check=True)
        assert sleeping[0].wait(10) == -signal.SIGKILL
        assert sleeping[2].wait(10) == -signal.SIGKILL
        assert sleeping[1].poll() is None
    finally:
        for each in sleeping:
            each.kill()
            each.wait()


def test_commands_run_where_the_shell_is_dead() -> None:
    program = """
import os, signal
from pathlib import Path
from fastinstall.core import orphans
from fastinstall.core.lock import lock_environment
from fastinstall.core.process import run
from fastinstall.journal.rollback import recover
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import EnvironmentHistory, UnfinishedRun
run(("/bin/true",))
own = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
[shell] = own
os.kill(int(shell), signal.SIGKILL)
os.waitpid(int(shell), 0)
print(run(("/bin/echo", "ran")).stdout.strip())
"""
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash"])
def test_every_usual_shell_understands_the_script(shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"{shell} is not installed")
    with subprocess.Popen(("/bin/sleep", "600"), start_new_session=True) as sleeping:
        text = f"+ {sleeping.pid}\n+ 999999991\n- 999999991\n- 999999992\n"
        words = (shell, "-c", orphans._SCRIPT)
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        assert sleeping.wait(10) == -signal.SIGKILL
    assert done.stderr == ""


_MODULES = 2000
_STAGES = """
import sys
from pathlib import Path
from support.journal.environments import make_environment, open_transaction
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.wheelbuild.staging import compile_meanwhile
interpreter = observe_interpreter(Path(sys.executable))
stage = open_transaction(make_environment(Path(sys.argv[1]))).stage
for number in range(int(sys.argv[2])):
    (stage / f"module_{number}.py").write_text("def function(value):\\n    return [value, value]\\n" * 50)
with compile_meanwhile(stage, interpreter):
    pass
"""


def test_a_killed_setup_is_undone_for_good(tmp_path: Path) -> None:
    """A `compileall` that survived would recreate the transaction's directories, and later setups would fail."""
    prefix = tmp_path / "env"
    words = (sys.executable, "-c", _STAGES, str(prefix), str(_MODULES))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=variables) as setup:
        assert _wait_until(lambda: any(prefix.glob("share/fastinstall/tx/*/stage/__pycache__/*.pyc")), 60)
        setup.kill()
    assert lasting_command_lines(str(prefix)) == []
    compiled = list(prefix.glob("share/fastinstall/tx/*/stage/__pycache__/*.pyc"))
    assert len(compiled) < _MODULES, "it was killed, and did not finish"
    with lock_environment(prefix):
        recovered = recover(JournalStore(prefix))
    assert recovered is not None
    assert recovered.interruption.kind is UnfinishedRun.SETUP
    assert not _wait_until((prefix / "share").exists, 1.0)
    assert read_environment_history(prefix, sized=False) == EnvironmentHistory()
