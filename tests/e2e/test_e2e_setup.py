"""`fastinstall setup` on typical environments, and what doctor and pip report afterwards."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import Python, at_hand, of_version, outdated, running
from support.index.releases import NEWEST
from support.sandbox import FORK, ONE_LEVEL, NewSandbox, Result, Sandbox, Venv, run, tree_hash
from support.suite import extent

from fastinstall.core.files import sha256

ALL = extent.every_row
LABEL = "+simd.v"
STOCK = "pillow==13.0.0"
NEWEST_NEEDS = (3, 11)
"""The oldest Python that Pillow 13 supports."""

SLOW = re.compile(r" *(still |slower: |(process \d+|another process) builds )")
"""Lines that appear only on a slow or busy machine."""


@dataclass(frozen=True, kw_only=True)
class Fast:
    """An environment that was set up.

    Attributes:
        sandbox: the sandbox that contains it.
        venv: the environment.
        python: its base interpreter.
        tool: the tool that created it, "venv" or "uv".
        words: additional arguments of the setup.
        setup: the result of the setup.
    """

    sandbox: Sandbox
    venv: Venv
    python: Python
    tool: str
    words: tuple[str, ...]
    setup: Result

    def cli(self, verb: str, *arguments: str) -> Result:
        return self.sandbox.cli(verb, "--prefix", self.venv.prefix, *arguments)

    def install(self, *words: str) -> Result:
        """Install with the installer that belongs to the environment's tool."""
        installer = self.venv.uv if self.tool == "uv" else self.venv.pip
        return installer("install", *words)


def _made_by() -> list[tuple[Python, str]]:
    """List the Pythons and tools that create the environments of the tests.

    Every Python that the newest Pillow supports is used with venv, and the newest of these also with uv, which installs
    no pip. By default, only the Python of the tests is used, because each Python needs a build of its own.
    """
    pythons = [python for python in at_hand() if python.version >= NEWEST_NEEDS] if ALL else [running()]
    return [*((python, "venv") for python in pythons), *((python, "uv") for python in pythons[-1:])]


@pytest.fixture(scope="module", params=_made_by(), ids=lambda made: f"{made[0]}-{made[1]}")
def fast(request: pytest.FixtureRequest, new_sandbox: NewSandbox) -> Iterator[Fast]:
    python, tool = request.param
    with new_sandbox() as sandbox:
        venv = sandbox.venv(python, tool=tool)
        # one level is enough: levels do not depend on the Python version
        words = () if python == running() else ONE_LEVEL
        setup = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *words)
        yield Fast(sandbox=sandbox, venv=venv, python=python, tool=tool, words=words, setup=setup)


@pytest.mark.main
def test_setup_ends_with_a_healthy_report_and_a_speed_table(fast: Fast) -> None:
    assert fast.setup.exit_code == 0, fast.setup.text
    assert "as fast as pillow " in fast.setup.stdout
    assert len([line for line in fast.setup.text.splitlines() if not SLOW.match(line)]) <= 25
    assert f"fastinstall rollback --prefix {fast.venv.prefix}" in fast.setup.stdout
    assert " error " not in fast.setup.stdout


@pytest.mark.main
def test_it_is_the_newest_pillow_with_the_kernels(fast: Fast) -> None:
    version = fast.venv.run("-c", "import PIL; print(PIL.__version__)").stdout.strip()
    major, minor = map(int, version.split(".")[:2])
    assert (major, minor) >= (13, 0)
    simd = fast.cli("doctor", "simd-active", "--json").document["findings"]
    assert [finding["status"] for finding in simd] == ["ok"]
    where = "the core" if fast.words else "every copy of the core"
    assert f"the SIMD kernels are in {where}" in simd[0]["message"]


@pytest.mark.main
def test_doctor_passes_and_knows_no_advisory_against_the_newest(fast: Fast) -> None:
    result = fast.cli("doctor", "--json")
    assert result.exit_code == 0, result.text
    found = [(finding["check"], finding["status"]) for finding in result.document["findings"]]
    odd = {check for check, status in found if status not in ("ok", "hint", "skipped")}
    assert odd == set()
    assert {("simd-active", "ok"), ("operations", "ok"), ("guards", "ok")} <= set(found)
    known = [finding["message"] for finding in result.document["findings"] if finding["check"] == "advisories"]
    assert "known advisories affects Pillow 13" in known[0]


PICTURE = "from PIL import Image; Image.effect_noise((1920, 1080), 60).convert('RGB').save('photo.jpg')"
PIPELINES = {"pipeline": ".convert('RGB').resize((256, 144))", "bytes": ".tobytes()"}
DECODED = """
import ctypes, resource, sys, threading
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: a fault is one page
from PIL import Image
def load(): return Image.open("photo.jpg")%s
def count():
    for _ in range(5): load()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20): load()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 20)
thread = threading.Thread(target=count)
thread.start() if sys.argv[1:] else count()
"""


@pytest.mark.main
@pytest.mark.parametrize("where", [(), ("in a thread",)])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_memory_of_one_image_serves_the_next(fast: Fast, pipeline: str, where: tuple[str, ...]) -> None:
    variables, directory = fast.sandbox.variables(), fast.sandbox.root
    assert run([fast.venv.python, "-c", PICTURE], variables, directory=directory).exit_code == 0
    program: list[str | Path] = [fast.venv.python, "-c", DECODED % PIPELINES[pipeline], *where]
    assert int(run(program, variables, directory=directory).stdout) < 10
    # in the other cases, the program first frees a large block; from then on, glibc itself keeps such blocks
    if not where and pipeline != "bytes":
        untouched = run(program, {**variables, "FASTINSTALL_KEEP_MB": "0"}, directory=directory)
        assert int(untouched.stdout) > 1000


def test_doctor_finds_it_among_all_environments(fast: Fast) -> None:
    result = fast.sandbox.cli("doctor", "--all", "--quick", "--json")
    assert result.exit_code == 0, result.text
    assert [report["environment"]["prefix"] for report in result.document["reports"]] == [str(fast.venv.prefix)]


@pytest.mark.main
def test_pip_finds_nothing_wrong_and_lists_ours(fast: Fast) -> None:
    check = fast.venv.pip("check")
    assert check.exit_code == 0, check.text
    listed = dict(line.split("==", 1) for line in fast.venv.pip("list", "--format", "freeze").stdout.splitlines())
    assert LABEL in listed["pillow"]


@pytest.mark.main
def test_a_second_setup_has_nothing_to_do_and_changes_no_byte(fast: Fast) -> None:
    before = tree_hash(fast.venv.prefix)
    result = fast.cli("setup", "--yes", *fast.words)
    assert result.exit_code == 0, result.text
    assert "nothing to do" in result.stdout
    assert tree_hash(fast.venv.prefix) == before


def test_asking_for_the_newest_pillow_changes_no_byte(fast: Fast) -> None:
    before = tree_hash(fast.venv.site_packages)
    for words in (("pillow>=13",), ("--upgrade", "pillow")):
        install = fast.install(*words)
        assert install.exit_code == 0, install.text
        assert tree_hash(fast.venv.site_packages) == before


def test_installing_what_depends_on_pillow_keeps_ours(fast: Fast) -> None:
    core = sha256(fast.venv.core)
    install = fast.install("pytesseract")
    assert install.exit_code == 0, install.text
    assert sha256(fast.venv.core) == core
    assert fast.venv.pip("check").exit_code == 0
    assert fast.cli("doctor").exit_code == 0


def test_an_old_python_gets_an_older_pillow_once_risk_is_allowed(sandbox: Sandbox) -> None:
    python = of_version("3.10")
    if python is None:
        pytest.skip("there is no Python 3.10")
    venv = sandbox.venv(python, pip=False)
    before = tree_hash(venv.prefix)
    refused = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert refused.exit_code == 5, refused.text
    assert re.search(rf"not {NEWEST}: ", refused.stderr)
    assert "Python >=3.11" in refused.stderr
    assert "critical advisories affect Pillow 12.3.0" in refused.stderr
    another, accept = refused.stderr.partition("hint: ")[2].split("; or ")
    assert another.endswith(": fastinstall setup --new-env ./fast-env --python python3.11")
    assert "--allow vulnerable" in accept
    assert tree_hash(venv.prefix) == before


@pytest.mark.slow
def test_a_later_pillow_is_replaced_only_with_each_risk_allowed(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    assert venv.pip("install", STOCK).exit_code == 0
    before = tree_hash(venv.prefix)
    for words, missing in (((), "downgrade,vulnerable"), (FORK, "vulnerable,downgrade")):
        refused = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "pillow-simd", *words)
        assert refused.exit_code == 5, refused.text
        assert f"accept the risk: --allow {missing}" in refused.stderr
        assert "CVE-" in refused.stderr
        assert tree_hash(venv.prefix) == before
    # the same wheel as in the wizard's tests, so it is built once
    risks = ("--recipe", "pillow-simd", "--allow", "downgrade,vulnerable")
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *risks)
    assert done.exit_code == 0, done.text
    doctor = sandbox.cli("doctor", "--prefix", venv.prefix)
    assert doctor.exit_code == 0, doctor.text
    assert "accepted on " in doctor.stdout
    assert venv.pip("check").exit_code == 0
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert tree_hash(venv.prefix) == before


def test_what_depends_on_pillow_and_was_there_before_still_works(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    assert venv.pip("install", "imageio", "pillow==12.1.1").exit_code == 0
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("check").exit_code == 0
    picture = sandbox.root / "picture.png"
    script = "import imageio, numpy, sys; imageio.imwrite(sys.argv[1], numpy.zeros((9, 9, 3), 'uint8'))"
    written = venv.run("-c", script, picture)
    assert written.exit_code == 0, written.text


def test_spaces_and_letters_beyond_ascii_in_the_prefix_are_fine(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), name="schöne Bilder, 美しい", pip=False)
    before = tree_hash(venv.prefix)
    shown = sandbox.cli("setup", "--dry-run", "--prefix", venv.prefix)
    assert shown.exit_code == 0, shown.text
    assert str(venv.prefix) in shown.stdout
    assert tree_hash(venv.prefix) == before
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert tree_hash(venv.prefix) == before


def test_a_new_environment_is_made_for_it(sandbox: Sandbox) -> None:
    prefix = sandbox.root / "fast-env"
    done = sandbox.cli("setup", "--yes", "--new-env", prefix, "--python", running().executable)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", prefix).exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(not ALL, reason="a build of its own for an old Python: --every-row")
@pytest.mark.parametrize("python", [python for python in outdated() if python.version >= (3, 8)][-1:], ids=str)
def test_a_python_too_old_for_our_pip_builds_with_its_own_pip(sandbox: Sandbox, python: Python) -> None:
    venv = sandbox.venv(python)
    words = ("--recipe", "pillow-simd", *ONE_LEVEL)  # our kernels need a later Pillow than this Python can run
    built = sandbox.cli("build", "-o", sandbox.root / "wheels", "--prefix", venv.prefix, "--json", *words)
    assert built.exit_code == 0, built.text
    assert f"-cp{python.version[0]}{python.version[1]}-" in built.document["wheel"]
