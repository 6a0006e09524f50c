"""One warning for all processes of a tree: pools, pre-forked or restarted workers, servers started before the swap."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.environments.guarded import WARNING, Guarded, make_guarded, python_at_hand, warnings
from support.made_once import key_of, made_once

from fastinstall.guard.status import read_events

UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.8", "3.11", "3.13", "3.14")
SITE_OF_TESTS = sysconfig.get_path("purelib")

WORKERS = """
import multiprocessing, sys

def work(number):
    import PIL
    return number

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(4) as pool:
        assert pool.map(work, range(16), chunksize=1) == list(range(16))
"""

OLDER_MASTER = """
import os, subprocess, sys

how, swap = sys.argv[1:]
subprocess.run(["sh", "-c", swap], check=True)
for _ in range(3):
    if how == "fork":
        child = os.fork()
        if not child:
            import PIL
            os._exit(0)
        os.waitpid(child, 0)
    else:
        emptied = {"TMPDIR": os.environ["TMPDIR"]} if how == "emptied" else None
        subprocess.run([sys.executable, "-c", "import PIL"], check=True, env=emptied)
"""

APPLICATION = """
def application(environ, start_response):
    import PIL
    start_response("200 OK", [])
    return [PIL.__version__.encode()]
"""


@pytest.fixture(params=VERSIONS)
def guarded(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    python = python_at_hand(request.param)
    if python is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    with tempfile.TemporaryDirectory(prefix="fi-") as short:  # a fork server's socket must fit into 108 bytes
        yield make_guarded(Path(short), python)


@pytest.fixture
def own(tmp_path: Path) -> Guarded:
    """Return an environment of the Python that runs the tests, for tests that do not depend on the version."""
    return make_guarded(tmp_path, Path(sys.executable))


@pytest.fixture(scope="module")
def gunicorn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with gunicorn and its requirements, which are pure Python."""
    lasting = os.environ.get("FASTINSTALL_TEST_CACHE")
    directory = Path(lasting) if lasting else tmp_path_factory.mktemp("tools")
    if not UV.exists():
        pytest.skip("uv is not installed beside the Python that runs the tests")
    # uv creates a lock file that everybody can write to; fastinstall does not check its cache this deep
    deep = directory / "made"
    return made_once(deep / f"gunicorn-{key_of('1')}", _download_gunicorn)


def _download_gunicorn(directory: Path) -> None:
    command = (UV, "pip", "install", "-q", "--python", sys.executable, "--target", directory, "gunicorn==23.0.0")
    subprocess.run(command, check=True, timeout=600)


def change_of(guarded: Guarded) -> str:
    """Return a shell command that changes PIL's core."""
    return f"echo more >> '{next(guarded.site.glob('PIL/_imaging*'))}'"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_of_workers_tells_it_once(guarded: Guarded, tmp_path: Path, method: str) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    guarded.swap()
    result = guarded.run(script, method)
    assert result.returncode == 0
    assert len(warnings(result)) == len(read_events(guarded.prefix)) == 1
    assert list(guarded.temporary.iterdir()) == []


@pytest.mark.parametrize("how", ["spawn", "emptied", "fork"])
def test_workers_of_a_master_older_than_the_swap_warn_once(guarded: Guarded, how: str) -> None:
    result = guarded.run("-c", OLDER_MASTER, how, change_of(guarded))
    assert (result.returncode, len(warnings(result))) == (0, 1), result.stderr


def test_a_master_started_by_bare_name_is_known_to_its_workers(own: Guarded) -> None:
    path = f"{own.python.parent}:{os.environ['PATH']}"
    command = ("env", "python", "-c", OLDER_MASTER, "spawn", change_of(own))
    assert len(warnings(own.execute(command, {"PATH": path}))) == 1


def test_the_python_of_another_environment_is_another_tree(own: Guarded, tmp_path: Path) -> None:
    other = make_guarded(tmp_path, Path(sys.executable), name="other")
    code = "import subprocess, sys; [subprocess.run([sys.argv[1], '-c', 'import PIL'], check=True) for _ in range(2)]"
    own.swap()
    assert len(warnings(other.run("-c", code, own.python))) == 2


def test_each_process_tree_warns_once_and_children_are_silent(own: Guarded) -> None:
    own.swap()
    code = "import subprocess, sys, PIL; subprocess.run([sys.executable, '-c', 'import PIL'], check=True)"
    for _ in range(2):
        assert len(warnings(own.run("-c", code))) == 1


def test_another_swap_is_told_again_in_the_same_tree(own: Guarded) -> None:
    change = change_of(own)
    code = f"""
import subprocess, sys
for _ in range(2):
    subprocess.run(["sh", "-c", {change!r}], check=True)
    subprocess.run([sys.executable, "-c", "import PIL"], check=True)
"""
    assert len(warnings(own.run("-c", code))) == 2


def test_a_stale_stamp_silences_no_later_tree_and_is_removed(own: Guarded) -> None:
    own.swap()
    stamps = own.temporary / f"fastinstall-guard-{os.getuid()}"
    stamps.mkdir(mode=0o700)
    for name in (f"{os.getpid()}-1-0123456789abcdef", "4000000-77-0123456789abcdef", "rubbish"):
        (stamps / name).touch()
    assert len(warnings(own.run("-c", "import PIL", FASTINSTALL_GUARD_ROOT=f"{os.getpid()}-1"))) == 1
    assert not stamps.exists()


def test_a_killed_master_leaves_one_stamp_until_the_next_warning(own: Guarded) -> None:
    own.swap()
    for _ in range(3):
        killed = own.run("-c", "import os, signal, PIL; os.kill(os.getpid(), signal.SIGKILL)")
        assert len(warnings(killed)) == 1
    (stamps,) = own.temporary.iterdir()
    assert len(list(stamps.iterdir())) == 1


@pytest.mark.parametrize("root", ["", "1", "-", "0-0-0", "²-1", "../../../tmp/x", "1-1/../../x"])
def test_a_strange_name_of_a_tree_is_not_believed(own: Guarded, root: str) -> None:
    own.swap()
    assert len(warnings(own.run("-c", "import PIL", FASTINSTALL_GUARD_ROOT=root))) == 1
    assert list(own.temporary.iterdir()) == []


def test_where_no_stamp_can_be_written_it_warns_all_the_same(own: Guarded) -> None:
    own.swap()
    assert own.run("-c", "import PIL", TMPDIR="/nowhere/at/all").stderr.startswith(WARNING)


def test_the_workers_of_pytest_tell_it_once(own: Guarded, tmp_path: Path) -> None:
    own.swap()
    suite = tmp_path / "test_it.py"
    suite.write_text("import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(n):\n    import PIL\n")
    plugins = ("-p", "no:cacheprovider", "-p", "xdist", "-n", "3")
    result = own.run(
        "-m", "pytest", "-q", *plugins, suite, PYTHONPATH=SITE_OF_TESTS, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    assert "6 passed" in result.stdout, result.stdout + result.stderr
    assert len(read_events(own.prefix)) == 1


def test_gunicorns_workers_warn_once_despite_an_older_master(own: Guarded, gunicorn: Path) -> None:
    shutil.copytree(gunicorn, own.site, dirs_exist_ok=True)
    (own.temporary / "served.py").write_text(APPLICATION)
    # A worker that starts while the master ends misses the signal and runs until the timeout, so the timeout is short.
    options = ("-w", "2", "-b", "unix:gunicorn.sock", "--max-requests", "1", "--graceful-timeout", "2")
    argv = (own.python, "-m", "gunicorn", *options, "served")
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(own.temporary)}
    with subprocess.Popen(
        argv, cwd=own.temporary, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as master:
        try:
            socket = own.temporary / "gunicorn.sock"
            _wait_for(socket)
            own.swap()
            for _ in range(6):  # each worker serves one request, and is then replaced by a new worker
                _request(own, socket)
        finally:
            master.terminate()
            _, said = master.communicate(timeout=30)
    assert said.count("Booting worker") >= 5, said
    assert said.count("fastinstall: ") == len(read_events(own.prefix)) == 1, said


def _wait_for(socket: Path) -> None:
    for _ in range(1200):
        if socket.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{socket}: nobody listens")


def _request(guarded: Guarded, socket: Path) -> None:
    code = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.settimeout(20)
    connection.connect(sys.argv[1])
    connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    answer = b""
    while chunk := connection.recv(4096):
        answer += chunk
print(json.dumps(answer.decode()))
"""
    result = guarded.execute((sys.executable, "-c", code, socket))
    assert "13.0.0" in json.loads(result.stdout) or "12.1.1" in json.loads(result.stdout), result.stderr
