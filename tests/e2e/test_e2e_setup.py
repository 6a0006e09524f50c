"""setup, doctor and what pip says afterwards, on environments as people have them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from interpreters import Python, at_hand, outdated, running
from sandbox import NewSandbox, Result, Sandbox, Venv, tree_hash

from fastinstall.system.files import sha256

LABEL = "+simd.v"
STOCK = "pillow==13.0.0"


@dataclass(frozen=True, kw_only=True)
class Fast:
    """An environment that was set up.

    Attributes:
        sandbox: where it is.
        venv: itself.
        tool: what made it, "venv" or "uv".
        setup: what the setup said.
    """

    sandbox: Sandbox
    venv: Venv
    tool: str
    setup: Result

    def cli(self, verb: str, *arguments: str) -> Result:
        return self.sandbox.cli(verb, "--prefix", self.venv.prefix, *arguments)


def _made_by() -> list[tuple[Python, str]]:
    """Every Python with venv, and the oldest and the newest one with uv, which puts no pip inside."""
    pythons = at_hand()
    return [
        *((python, "venv") for python in pythons),
        *((python, "uv") for python in dict.fromkeys(pythons[:: len(pythons) - 1 or 1])),
    ]


@pytest.fixture(scope="module", params=_made_by(), ids=lambda made: f"{made[0]}-{made[1]}")
def fast(request: pytest.FixtureRequest, new_sandbox: NewSandbox) -> Iterator[Fast]:
    python, tool = request.param
    with new_sandbox() as sandbox:
        venv = sandbox.venv(python, tool=tool)
        setup = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        yield Fast(sandbox=sandbox, venv=venv, tool=tool, setup=setup)


def test_setup_ends_with_a_healthy_report_and_a_speed_table(fast: Fast) -> None:
    assert fast.setup.exit_code == 0, fast.setup.text
    assert "geometric mean" in fast.setup.stdout
    assert f"fastinstall rollback --prefix {fast.venv.prefix}" in fast.setup.stdout
    assert " error " not in fast.setup.stdout


def test_doctor_is_content(fast: Fast) -> None:
    result = fast.cli("doctor", "--json")
    assert result.exit_code == 0, result.text
    findings = {finding["check"]: finding["status"] for finding in result.document["findings"]}
    assert {check for check, status in findings.items() if status not in ("ok", "hint", "skipped")} <= {"advisories"}
    assert findings["simd-active"] == findings["operations"] == findings["guards"] == "ok"


def test_pip_finds_nothing_wrong_and_lists_ours(fast: Fast) -> None:
    check = fast.venv.pip("check")
    assert check.exit_code == 0, check.text
    listed = dict(line.split("==", 1) for line in fast.venv.pip("list", "--format", "freeze").stdout.splitlines())
    assert LABEL in listed["pillow"]


def test_a_second_setup_has_nothing_to_do_and_changes_no_byte(fast: Fast) -> None:
    before = tree_hash(fast.venv.prefix)
    result = fast.cli("setup", "--yes")
    assert result.exit_code == 0, result.text
    assert "nothing to do" in result.stdout
    assert tree_hash(fast.venv.prefix) == before


def test_installing_what_depends_on_pillow_keeps_ours(fast: Fast) -> None:
    core = sha256(fast.venv.core)
    installer = fast.venv.uv if fast.tool == "uv" else fast.venv.pip
    install = installer("install", "imageio")
    assert install.exit_code == 0, install.text
    assert sha256(fast.venv.core) == core
    assert fast.venv.pip("check").exit_code == 0
    assert fast.cli("doctor").exit_code == 0


def test_a_pillow_of_a_later_version_is_replaced_only_with_that_risk_allowed(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    assert venv.pip("install", STOCK).exit_code == 0
    before = tree_hash(venv.prefix)
    refused = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert refused.exit_code == 5, refused.text
    assert "--allow downgrade" in refused.stderr
    assert "CVE-" in refused.stderr
    assert tree_hash(venv.prefix) == before
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--allow", "downgrade")
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
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
@pytest.mark.parametrize("python", [python for python in outdated() if python.version >= (3, 8)][-1:], ids=str)
def test_a_python_too_old_for_the_pip_of_fastinstall_gets_an_older_release_by_its_own_pip(
    sandbox: Sandbox, python: Python
) -> None:
    venv = sandbox.venv(python)
    built = sandbox.cli("build", "-o", sandbox.root / "wheels", "--prefix", venv.prefix, "--json")
    assert built.exit_code == 0, built.text
    assert f"-cp{python.version[0]}{python.version[1]}-" in built.document["wheel"]
