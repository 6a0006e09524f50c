"""Real pip and uv run while fastinstall changes their environment: it notices them, and keeps their work."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.environments.real import Environments
from support.index.wheels import write_files_wheel
from support.sandbox import UNREACHABLE, UV, Sandbox, Venv, run, tree_hash

from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Emit, Event, Noted, ignore
from fastinstall.core.lock import lock_environment
from fastinstall.journal.store import JournalStore
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.running_programs import observe_concurrent_installers
from fastinstall.observe.session import open_session
from fastinstall.setup import carry_out
from fastinstall.setup.exclusive import ForeignChangeWatch
from fastinstall.verbs.repair import plan_repair, repair

pytest_plugins = ("support.environments.fixtures",)

_SECONDS = 60.0


def pip_words(venv: Venv) -> tuple[str | Path, ...]:
    """Return the command that `pip --python` starts: the environment's Python runs the tests' own pip."""
    found = importlib.util.find_spec("pip")
    assert found is not None
    assert found.origin is not None
    pip = Path(found.origin).with_name("__pip-runner__.py")
    return (venv.python, pip, "install", "--quiet", "--force-reinstall", "--no-deps", "pillow")


def uv_words(venv: Venv) -> tuple[str | Path, ...]:
    """Return the uv command that reinstalls Pillow with the environment's interpreter."""
    return (UV, "pip", "install", "--quiet", "--python", venv.python, "--reinstall", "--no-deps", "pillow")


TOOLS = {"pip": pip_words, "uv": uv_words}


@contextmanager
def stopped(
    words: tuple[str | Path, ...], variables: Mapping[str, str], *, stops_itself: bool = False
) -> Iterator[int]:
    """Start a process, stop it halfway, and yield its ID. Like a process of another terminal, it is not our child.

    Args:
        words: the process's command line.
        variables: the process's environment variables.
        stops_itself: if True, wait until the process stops itself; if False, stop it as soon as it runs.
    """
    starter = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=2).pid, flush=True)"
    argv = (sys.executable, "-c", starter, *words)
    began = subprocess.run(argv, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    number, deadline = int(began.stdout), time.monotonic() + _SECONDS
    try:
        while not (_is_stopped(number) if stops_itself else _runs(number, words[0])):
            assert time.monotonic() < deadline, "it never came so far"
            time.sleep(0.001)
        os.kill(number, signal.SIGSTOP)
        yield number
    finally:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def fix(sandbox: Sandbox, venv: Venv, listen: Emit = ignore) -> None:
    """Repair the environment as `doctor --fix --yes` does, but in this process."""
    session = open_session(sandbox.variables(UNREACHABLE)).listening(listen)
    planned = plan_repair(session, find_environment(session, NamedTarget(prefix=venv.prefix)), Request())
    repair(session, planned, Request(), lambda plan: plan)


def swapped(environments: Environments) -> Venv:
    """Return an environment whose core was replaced behind fastinstall's back, so that it needs a repair."""
    venv = environments.copy("ours")
    core = venv.core
    content = bytearray(core.read_bytes())
    content[-1] ^= 1
    core.unlink()
    core.write_bytes(content)
    return venv


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield variables that point pip and uv to an index that never answers, so that neither finishes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        caches = {name: str(tmp_path / name) for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR")}
        direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        yield {"PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index, **caches, **direct}


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_touched_while_another_tool_is_at_work(
    environments: Environments, waiting: dict[str, str], tool: str
) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    with stopped(TOOLS[tool](venv), {**venv.variables, **waiting}) as number:
        before = tree_hash(venv.prefix)
        for verb in (("guard", "remove"), ("rollback",)):
            refused = sandbox.cli(*verb, "--yes", "--prefix", venv.prefix)
            assert refused.exit_code == 5, refused.text
            assert f"process {number} ({tool} " in refused.stderr
            assert f"ps -fp {number}" in refused.stderr
        assert tree_hash(venv.prefix) == before


def test_uv_is_given_the_path_of_an_environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv reads a name without a slash as a Python version if it can: `--python v3` installs into .venv, not v3."""
    wheel = write_files_wheel(sandbox.root, "marked", "1.0", {"marked.py": b""})
    usual, named = (sandbox.venv(running(), name=name, pip=False) for name in (".venv", "v3"))
    monkeypatch.chdir(sandbox.root)
    target = find_environment(open_session(sandbox.variables()), NamedTarget(prefix=Path("v3")))
    words = (UV, "pip", "install", "--quiet", "--no-index", wheel, "--python")
    for python, changed in (("v3", usual), (target.python, named)):
        done = run((*words, str(python)), sandbox.variables(), directory=sandbox.root)
        assert done.exit_code == 0, done.text
        assert (changed.site_packages / "marked.py").exists()


def test_two_of_ours_at_once_are_one_too_many(environments: Environments) -> None:
    venv, sandbox = environments.copy("ours"), environments.sandbox
    with lock_environment(venv.prefix):
        second = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix)
    assert second.exit_code == 5, second.text
    assert f"process {os.getpid()} is working on this environment" in second.stderr


def test_a_change_between_observing_and_swap_is_refused_by_name(
    environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv, theirs = swapped(environments), []
    _at(monkeypatch, carry_out, "_stage_stack", lambda: theirs.append(_replaced(uv_words(venv), venv)))
    with pytest.raises(RefusedError, match=r"uv changed .*PIL/.* \d+ more"):
        fix(environments.sandbox, venv)
    assert _stack(venv) == theirs[0]
    assert len(JournalStore(venv.prefix).transactions()) == 1


def test_a_reinstall_after_the_swap_stays_and_old_files_are_kept(
    environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv, theirs = swapped(environments), []
    before = venv.core.read_bytes()
    _at(monkeypatch, ForeignChangeWatch, "accept_changes", lambda: theirs.append(_replaced(pip_words(venv), venv)))
    with pytest.raises(RefusedError, match="its files stay") as caught:
        fix(environments.sandbox, venv)
    assert _stack(venv) == theirs[0]
    assert "pip changed" in caught.value.details[-1]
    assert JournalStore(venv.prefix).unfinished() is None
    kept = venv.prefix / "share/fastinstall/kept"
    assert [core.read_bytes() for core in kept.glob("*/lib/*/site-packages/PIL/_imaging.*.so")] == [before]
    assert venv.pip("check").exit_code == 0
    report = environments.sandbox.cli("doctor", "--quick", "--json", "--prefix", venv.prefix, "swapped", "interrupted")
    assert {found["check"]: found["status"] for found in report.document["findings"]} == {
        "swapped": "error",
        "interrupted": "ok",
    }


def test_a_rival_in_the_middle_of_its_work_may_finish_it(
    environments: Environments, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    venv = swapped(environments)

    def listen(event: Event) -> None:
        if isinstance(event, Noted) and "waiting for it to end" in event.message:
            (installer,) = observe_concurrent_installers(venv.prefix)
            os.kill(installer.process, signal.SIGCONT)

    with _overrunning(monkeypatch, venv, tmp_path), pytest.raises(RefusedError, match="its files stay"):
        fix(environments.sandbox, venv, listen)
    assert observe_concurrent_installers(venv.prefix) == ()
    assert not list(venv.site_packages.glob("~*"))
    assert venv.run("-c", "import PIL.Image").exit_code == 0
    assert venv.pip("check").exit_code == 0


_VIEWER = """
import os, sys
from PIL import Image
Image.new("RGB", (64, 64), (1, 2, 3)).save(sys.argv[1] if len(sys.argv) > 1 else {image!r})
opened = Image.open({image!r})
def work():
    child = os.fork()
    if child == 0:
        os._exit(0 if Image.open({image!r}).resize((8, 8)).getpixel((0, 0)) == (1, 2, 3) else 1)
    return os.waitpid(child, 0)[1] == 0 and Image.new("L", (9, 9), 7).resize((3, 3)).getpixel((1, 1)) == 7
assert work()
print("ready", flush=True)
for line in sys.stdin:
    print(work() and opened.copy().getpixel((5, 5)) == (1, 2, 3), flush=True)
"""


def test_a_process_holding_old_files_survives_swap_and_rollback(environments: Environments, tmp_path: Path) -> None:
    venv, sandbox = swapped(environments), environments.sandbox
    program = _VIEWER.format(image=str(tmp_path / "image.png"))
    argv = (venv.python, "-c", program)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert _answer(viewer) == "ready"
            fixed = sandbox.cli("doctor", "--fix", "--yes", "--json", "--prefix", venv.prefix, env=UNREACHABLE)
            assert fixed.exit_code == 0, fixed.text
            assert _asked(viewer) == "True"
            undone = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix)
            assert undone.exit_code == 0, undone.text
            assert _asked(viewer) == "True"
        finally:
            viewer.kill()


def _at(monkeypatch: pytest.MonkeyPatch, owner: object, step: str, installer: Callable[[], object]) -> None:
    """Patch `owner` so that `installer` runs right after `step`, a function of the transaction."""
    real = getattr(owner, step)

    def then(*arguments: object) -> object:
        done = real(*arguments)
        installer()
        return done

    monkeypatch.setattr(owner, step, then)


_HALFWAY = """
import os, signal, sys
moments = [signal.SIGSTOP]
def hear(event, arguments):
    if event == "os.rename" and "~illow" in str(arguments[1]) and moments:
        os.kill(os.getpid(), moments.pop())
sys.addaudithook(hear)
"""
"""sitecustomize.py for a pip that stops after it has moved PIL aside, before it moves the next directory."""


@contextmanager
def _overrunning(monkeypatch: pytest.MonkeyPatch, venv: Venv, directory: Path) -> Iterator[None]:
    """Start pip right after the transaction's swap, and stop pip when it has moved our PIL aside."""
    (directory / "sitecustomize.py").write_text(_HALFWAY)
    variables = {**venv.variables, "PYTHONPATH": str(directory)}
    with ExitStack() as stack:

        def begin() -> None:
            stack.enter_context(stopped(pip_words(venv), variables, stops_itself=True))
            assert not (venv.site_packages / "PIL").exists()

        _at(monkeypatch, ForeignChangeWatch, "accept_changes", begin)
        yield


def _replaced(words: tuple[str | Path, ...], venv: Venv) -> dict[str, str]:
    """Run an installer, and return the stack that it installed."""
    subprocess.run(words, env=venv.variables, check=True)
    return _stack(venv)


def _stack(venv: Venv) -> dict[str, str]:
    looks = tree_hash(venv.site_packages)
    return {path: look for path, look in looks.items() if path.lower().startswith("pi") and "__pycache__" not in path}


def _runs(number: int, program: str | Path) -> bool:
    """Return True if the process already runs this program; a new process is at first a copy of its parent."""
    return Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")[0] == os.fsencode(program)


def _is_stopped(number: int) -> bool:
    """Return True if the process is stopped. Source: proc_pid_stat(5)."""
    return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].startswith("T")


def _asked(viewer: "subprocess.Popen[str]") -> str:
    assert viewer.stdin is not None
    viewer.stdin.write("go on\n")
    viewer.stdin.flush()
    return _answer(viewer)


def _answer(viewer: "subprocess.Popen[str]") -> str:
    assert viewer.stdout is not None
    return viewer.stdout.readline().strip()
