"""The real bootstrap.sh, in a checkout that requires only one small wheel from a local directory."""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.index.wheels import write_wheel
from support.sandbox import NewSandbox, Result, Sandbox, run
from support.terminal.pseudo_terminal import python_in_terminal

from fastinstall.core.errors import ExitCode
from fastinstall.core.files import sha256

ROOT = Path(__file__).parents[2]
BASE = Path(sys._base_executable)  # type: ignore[attr-defined]
PROGRAM = "import json, sys, needed_module; print(json.dumps([sys.prefix, sys.base_prefix, sys.argv[1:]]))\n"
PRINT_OPTION = "import sys; print(sys._xoptions['fastinstall-program'])\n"
PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "fastinstall"
dynamic = ["version"]
dependencies = ["needed==1"]
classifiers = [
  "Programming Language :: Python :: 3",
  "Programming Language :: Python :: 3.11",
  "Programming Language :: Python :: 3.50",
]

[project.optional-dependencies]
isa = []
conda = []

[tool.anything]
lines = 80
"""
BACKEND = '''\
"""Makes a wheel that leads to the checkout, with what the standard library has."""
import os, zipfile

ROOT = os.path.dirname(os.path.abspath(__file__))


def build_editable(directory, settings=None, metadata=None):
    with open(f"{ROOT}/fastinstall/__init__.py") as file:
        version = file.read().split('"')[1]
    files = {
        "checkout.pth": ROOT,
        "METADATA": f"Metadata-Version: 2.1\\nName: fastinstall\\nVersion: {version}\\nRequires-Dist: needed==1\\n",
        "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "RECORD": "",
    }
    name = f"fastinstall-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as archive:
        for file, text in files.items():
            archive.writestr(file if file.islower() else f"fastinstall-{version}.dist-info/{file}", text)
    return name
'''
WAITS = """
import time

deadline = time.monotonic() + 60
while not os.path.exists({file!r}) and time.monotonic() < deadline:
    time.sleep(0.02)
"""
"""Start of a build script that waits until a file exists."""
AS_CONDA = """\
#!/bin/sh
exec '{base}' -I -c "import sys; sys.base_prefix = '{prefix}'
$3"
"""
AS_FREE_THREADED = """\
#!/bin/sh
exec '{base}' -I -c "import sys; sys.abiflags, sys._base_executable = 't', '/nowhere/python3.14t'
$3"
"""
AS_LATER = """\
#!/bin/sh
exec '{base}' -I -c "import sys; sys.version_info, sys._base_executable = (3, 51, 0), '/nowhere/python3.51'
$3"
"""


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A checkout, and what its bootstrap.sh needs: wheels, a PATH and a sandbox."""

    root: Path
    wheels: Path
    path: str
    sandbox: Sandbox

    def variables(self, *first: Path, offline: bool = False) -> dict[str, str]:
        """Return a shell's variables: directories in `first` lead PATH; with `offline`, pip finds no wheels."""
        settings = {
            "PATH": os.pathsep.join((*map(str, first), self.path)),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.sandbox.root / "nowhere" if offline else self.wheels),
            "PIP_CONFIG_FILE": "/dev/null",
        }
        return self.sandbox.variables({**settings, "PIP_EXTRA_INDEX_URL": None, "PIP_INDEX_URL": None})

    def run(self, *first: Path, offline: bool = False, home: Path | None = None) -> Result:
        """Run bootstrap.sh; `home` is the directory for its private environments."""
        own = {"FASTINSTALL_HOME": str(home)} if home is not None else {}
        return run(("sh", self.root / "bootstrap.sh", "word"), {**self.variables(*first, offline=offline), **own})

    @contextmanager
    def changed(self, name: str, old: str, other: str) -> Iterator[None]:
        """Replace text in a file of the checkout while the block lasts."""
        file = self.root / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, other))
        yield
        file.write_text(text)


@pytest.fixture(scope="module")
def checkout(new_sandbox: NewSandbox) -> Iterator[Checkout]:
    """Yield a checkout whose bootstrap.sh has run before, with a conda Python first on PATH."""
    with new_sandbox() as sandbox:
        root = sandbox.root / "it's a checkout"
        wheel = write_wheel(sandbox.root / "wheels", "needed", "1")
        lock = f"needed==1 \\\n    --hash=sha256:{sha256(wheel)}\n"
        files = {
            "pyproject.toml": PROJECT,
            "backend.py": BACKEND,
            "fastinstall/__init__.py": '__version__ = "1.0"\n',
            "fastinstall/__main__.py": PROGRAM,
            "requirements/tool.txt": lock,
            "requirements/test.txt": lock,
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        shutil.copy(ROOT / "bootstrap.sh", root)
        conda = sandbox.root / "conda"
        (conda / "conda-meta").mkdir(parents=True)
        (conda / "python3").write_text(AS_CONDA.format(base=BASE, prefix=conda))
        (conda / "python3").chmod(0o755)
        path = os.pathsep.join((str(conda), str(BASE.parent), "/usr/bin", "/bin"))
        made = Checkout(root=root, wheels=wheel.parent, path=path, sandbox=sandbox)
        first = made.run()
        assert first.exit_code == 0, first.text
        yield made


def _prefix(result: Result) -> str:
    assert result.exit_code == 0, result.text
    prefix, base, arguments = json.loads(result.stdout)
    assert (base, arguments) == (sys.base_prefix, ["word"]), "made by a Python that stays, and given the arguments"
    return str(prefix)


def test_an_active_environment_does_not_cause_another_to_be_made(checkout: Checkout) -> None:
    before = checkout.run()
    active = checkout.sandbox.root / "active"
    assert run((BASE, "-m", "venv", "--without-pip", active), checkout.variables()).exit_code == 0
    after = checkout.run(active / "bin", offline=True)
    assert _prefix(after) == _prefix(before)
    assert before.stderr + after.stderr == ""


def test_a_terminal_shows_the_steps_and_nothing_of_pip(checkout: Checkout, tmp_path: Path) -> None:
    variables = {**checkout.variables(), "FASTINSTALL_HOME": str(tmp_path / "home")}
    shell = "import os, sys; os.execv('/bin/sh', ['sh', *sys.argv[1:]])"
    words = ("-c", shell, checkout.root / "bootstrap.sh", "word")
    with python_in_terminal(*words, variables=variables, directory=tmp_path, columns=1000) as shown:
        assert shown.end() == 0, shown.text
    talk = [line for line in shown.text.splitlines() if not line.startswith("[")]
    assert [line.split(": ")[:2] for line in talk[1:]] == [["fastinstall", f"{step} of 3"] for step in (1, 2, 3)]


def test_the_program_learns_how_it_was_called(checkout: Checkout) -> None:
    with checkout.changed("fastinstall/__main__.py", PROGRAM, PRINT_OPTION):
        first = run(("sh", "bootstrap.sh"), checkout.variables(), directory=checkout.root)
        again = run(("sh", "-c", f"{first.stdout.strip()} word"), checkout.variables())
    assert again.exit_code == 0, first.text
    assert shlex.split(again.stdout) == ["sh", str(checkout.root / "bootstrap.sh")]


def test_the_whole_proof_runs_from_a_checkout_with_its_arguments(checkout: Checkout) -> None:
    (checkout.root / "whole_proof").mkdir()
    (checkout.root / "whole_proof" / "__main__.py").write_text("import sys; print(*sys.argv[1:])\n")
    proven = run(("sh", checkout.root / "bootstrap.sh", "prove", "NAME", "--json"), checkout.variables(offline=True))
    assert (proven.exit_code, proven.stdout) == (0, "NAME --json\n"), proven.text


def test_a_setting_of_another_tool_in_the_project_is_none_either(checkout: Checkout) -> None:
    with checkout.changed("pyproject.toml", "lines = 80", "lines = 120"):
        assert checkout.run(offline=True).stderr == ""


def test_what_cannot_be_renewed_is_used_as_it_is(checkout: Checkout) -> None:
    before = _prefix(checkout.run())
    with checkout.changed("requirements/tool.txt", "needed", "# another one\nneeded"):
        renewed = checkout.run(offline=True)
        assert _prefix(renewed) == before
        assert "needed==1" in renewed.stderr
        assert f"could not be installed; {before} is used" in renewed.stderr
    assert checkout.run(offline=True).stderr == "", "and nothing else has become of it"


def test_a_file_that_is_not_the_locked_one_is_refused(checkout: Checkout) -> None:
    before = _prefix(checkout.run())
    (wheel,) = checkout.wheels.iterdir()
    with checkout.changed("requirements/tool.txt", sha256(wheel), "0" * 64):
        refused = checkout.run()
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert _prefix(refused) == before


@pytest.mark.parametrize("script", [AS_LATER, AS_FREE_THREADED], ids=["later", "free-threaded"])
def test_a_python_without_all_wheels_is_not_the_first_choice(script: str, checkout: Checkout, tmp_path: Path) -> None:
    other, home = tmp_path / "other", tmp_path / "chosen"
    other.mkdir()
    (other / "python3").write_text(script.format(base=BASE))
    (other / "python3").chmod(0o755)
    assert _prefix(checkout.run(other, home=home)).startswith(str(home))


def test_a_package_without_a_wheel_for_this_python_is_named(checkout: Checkout) -> None:
    wheel = write_wheel(checkout.wheels, "needed", "2", "cp30-cp30-manylinux_2_17_x86_64")
    line = f"needed==2 --hash=sha256:{sha256(wheel)}\n# "
    with checkout.changed("requirements/tool.txt", "needed", f"{line}needed"):
        failed = checkout.run(home=checkout.sandbox.root / "unserved")
    wheel.unlink()
    assert failed.exit_code == ExitCode.FAILED_UNCHANGED
    assert f"pip found no wheel of needed==2 for Python {platform.python_version()}" in failed.stderr
    assert "FASTINSTALL_BOOTSTRAP_PYTHON=/path/to/python3.50 " in failed.stderr
    assert "reachable" not in failed.stderr


def test_an_index_that_cannot_be_reached_is_named_as_the_reason(checkout: Checkout) -> None:
    home = str(checkout.sandbox.root / "unreached")
    network = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    variables = {**checkout.variables(offline=True), **network, "FASTINSTALL_HOME": home}
    failed = run(("sh", checkout.root / "bootstrap.sh", "word"), variables)
    assert failed.exit_code == ExitCode.FAILED_UNCHANGED
    assert "is the package index reachable" in failed.stderr
    assert "no wheel" not in failed.stderr


def test_a_version_that_cannot_be_installed_says_what_still_runs(checkout: Checkout) -> None:
    before = _prefix(checkout.run())
    with checkout.changed("fastinstall/__init__.py", "1.0", "2.0"):
        result = checkout.run(offline=True)
    assert result.exit_code == 6
    assert "for fastinstall 2.0" in result.stderr
    assert f": {before}/bin/fastinstall" in [line[line.rfind(": ") :] for line in result.stderr.splitlines()]
    assert _prefix(checkout.run(offline=True)) == before


def test_two_shells_that_find_it_broken_make_one_beside_it(checkout: Checkout, tmp_path: Path) -> None:
    broken = Path(_prefix(checkout.run()))
    (broken / "bin" / "python").unlink()
    (broken / "bin" / "python").symlink_to("/nowhere")
    argv = ("sh", checkout.root / "bootstrap.sh", "word")
    talk, goes_on = tmp_path / "talk", tmp_path / "goes-on"
    with (
        checkout.changed("backend.py", "\n\ndef", f"{WAITS.format(file=str(goes_on))}\n\ndef"),
        talk.open("ab") as stderr,
        subprocess.Popen(argv, env=checkout.variables(), stdout=subprocess.PIPE, stderr=stderr, text=True) as one,
        subprocess.Popen(argv, env=checkout.variables(), stdout=subprocess.PIPE, stderr=stderr, text=True) as other,
    ):
        deadline = time.monotonic() + 60
        while "another process prepares" not in talk.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        goes_on.touch()
        outputs = [process.communicate(timeout=120)[0] for process in (one, other)]
    said = talk.read_text()
    results = [
        Result(exit_code=process.returncode, stdout=stdout, stderr=said)
        for process, stdout in zip((one, other), outputs, strict=True)
    ]
    assert len({_prefix(result) for result in results} - {str(broken)}) == 1
    assert said.count("preparing a private environment") == 1
    assert re.findall(r"(?m)^fastinstall: (\d of \d): ", said) == ["1 of 3", "2 of 3", "3 of 3"]
    assert said.count("another process prepares") == 1


_PROGRAM = """#!/bin/sh
echo planted
"""


def _plant(home: Path) -> None:
    """Plant an environment that looks finished, as an attacker could."""
    program = home / "fastinstall-tool-1-1-1/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(_PROGRAM)
    program.chmod(0o755)


def _give(path: Path) -> None:
    os.chown(path, 12345, 12345)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """Yield a safe directory that other users may enter, unlike pytest's own directories."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        yield place


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
@pytest.mark.parametrize(
    ("place", "mode", "is_given"),
    [
        ("above/home", 0o755, True),
        ("above/home/fastinstall-tool-1-1-1", 0o755, True),
        ("above", 0o755, True),
        ("above", 0o777, False),
        ("above", 0o1777, True),
        ("above/home", 0o757, False),
    ],
)
def test_what_others_may_have_put_there_is_not_run(
    checkout: Checkout, open_place: Path, place: str, mode: int, *, is_given: bool
) -> None:
    home, given = open_place / "above/home", open_place / place
    _plant(home)
    given.chmod(mode)
    if is_given:
        _give(given)
    (open_place / "link").symlink_to(home.parent)

    for named in (home, open_place / "link/home"):
        done = checkout.run(home=named)
        assert done.exit_code == 5, done.text
        assert (str(given) in done.stderr, "FASTINSTALL_HOME=DIR" in done.stderr) == (True, True), done.text


def test_where_others_cannot_replace_anything_is_used(checkout: Checkout, open_place: Path) -> None:
    place = open_place
    for name, mode in (("sticky", 0o1777), ("of root's group", 0o2770), ("closed", 0o700), ("behind", 0o777)):
        place = place / name
        place.mkdir()
        place.chmod(mode)
    assert _prefix(checkout.run(home=place / "home")).startswith(f"{place}/home/")
