"""`fastinstall build --with-tool` packs everything that a machine without an index needs to run fastinstall."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.environments.interpreters import Python, at_hand, running
from support.sandbox import STOCK, UNREACHABLE, NewSandbox, Result, Sandbox, run
from support.suite import extent

from fastinstall.core.errors import ExitCode

ALL = extent.every_row
_RUN = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('fastinstall', run_name='__main__')"
_OWN_WHEEL = """
import sys; sys.path[:0] = sys.argv[2:]
from pathlib import Path
from fastinstall.fleet.tool_wheels import make_tool_wheel as own_wheel
made, again = (own_wheel(Path(sys.argv[1]), {}, offline=True) for _ in range(2))
print(made if made == again else "made twice")
"""
_BRING = """
import os, sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from fastinstall.observe.session import open_session
from fastinstall.fleet.tool_wheels import fetch_tool, publish_tool
session = open_session({**os.environ, "FASTINSTALL_CACHE_DIR": sys.argv[2], "HOME": sys.argv[3]}).listening(print)
with publish_tool(session, *fetch_tool(session, Path(sys.argv[3]), offline=True)):
    pass
"""


@dataclass(frozen=True, kw_only=True)
class Brought:
    """A wheelhouse that contains fastinstall itself, and the JSON document of its build."""

    directory: Path
    document: dict[str, Any]

    @property
    def told(self) -> dict[str, Any]:
        """The document's part about fastinstall itself."""
        tool: dict[str, Any] = self.document["tool"]
        return tool

    @property
    def tool(self) -> Path:
        """The directory of fastinstall's wheels."""
        return self.directory / "tool"


@pytest.fixture(scope="module")
def brought(new_sandbox: NewSandbox) -> Iterator[Brought]:
    with new_sandbox() as sandbox:
        directory = sandbox.root / "wheelhouse"
        done = _build(sandbox, directory)
        assert done.exit_code == 0, done.text
        yield Brought(directory=directory, document=done.document)


@pytest.fixture(scope="module")
def unpacked(brought: Brought) -> Path:
    return _unpacked(brought, running(), brought.directory.with_name("unpacked"))


def test_what_the_build_tells_is_by_its_schema(brought: Brought) -> None:
    jsonschema.validate(brought.document, SCHEMAS["build"]())
    assert brought.told["directory"] == str(brought.tool)


def test_in_the_tools_own_venv_a_build_targets_its_base_python(brought: Brought, sandbox: Sandbox) -> None:
    done = sandbox.cli("build", "-o", brought.directory, *STOCK, "--json", env={"VIRTUAL_ENV": sys.prefix})

    assert done.exit_code == 0, done.text
    assert done.document["wheel"] == brought.document["wheel"]


def test_everything_is_there_with_its_sum_and_nothing_else(brought: Brought) -> None:
    lines = (brought.tool / "SHA256SUMS").read_text().splitlines()
    sums = {line.partition("  ")[2]: line.partition("  ")[0] for line in lines}

    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in brought.tool.glob("*.whl")}

    assert there == sums == brought.told["files"]
    assert brought.told["wheel"] in there
    assert {"3.11", "3.12", "3.13", str(running())} <= set(brought.told["pythons"])
    assert brought.told["left_out"] == {}


def test_the_tool_alone_is_the_same_and_nothing_is_built(brought: Brought, sandbox: Sandbox) -> None:
    directory = sandbox.root / "tool only"
    done = sandbox.cli("build", "--tool-only", "-o", directory, "--json")
    assert done.exit_code == 0, done.text
    jsonschema.validate(done.document, SCHEMAS["tool"]())
    assert done.document["files"].keys() == brought.told["files"].keys()
    assert [path.name for path in directory.iterdir()] == ["tool"]


def test_of_each_distribution_there_is_one_version(brought: Brought) -> None:
    parts = [path.name.split("-") for path in brought.tool.glob("*.whl")]

    assert len({name for name, *_ in parts}) == len({(name, version) for name, version, *_ in parts})


def test_the_index_of_the_stack_does_not_offer_it(brought: Brought) -> None:
    assert json.loads((brought.directory / "simple/index.json").read_text())["projects"] == [{"name": "pillow"}]


def test_bare_python_runs_setup_and_doctor_without_an_index(brought: Brought, unpacked: Path, sandbox: Sandbox) -> None:
    _set_up(brought, running(), unpacked, sandbox)


@pytest.mark.skipif(not ALL, reason="a setup for each: --every-row")
def test_every_interpreter_at_hand_does(brought: Brought, sandbox: Sandbox) -> None:
    for python in (each for each in at_hand() if each.version >= (3, 11) and each != running()):
        _set_up(brought, python, _unpacked(brought, python, sandbox.root / f"tool-{python}"), sandbox)


def test_a_second_run_uses_the_cache_and_replaces_damaged_wheels(
    brought: Brought, unpacked: Path, sandbox: Sandbox
) -> None:
    damaged = next(brought.tool.glob("rich-*.whl"))
    damaged.write_bytes(b"damaged")
    own = brought.tool / brought.told["wheel"]
    kept = {path: path.stat().st_mtime_ns for path in brought.tool.glob("*.whl") if path not in (damaged, own)}
    words = ("-I", "-c", _BRING, unpacked, sandbox.cache, brought.directory)

    done = run((running().executable, *words), sandbox.variables(UNREACHABLE))

    assert done.exit_code == 0, done.text
    assert f"{damaged}: damaged" in done.stdout
    assert hashlib.sha256(damaged.read_bytes()).hexdigest() == brought.told["files"][damaged.name]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_what_cannot_be_brought_whole_is_not_brought(brought: Brought, unpacked: Path, sandbox: Sandbox) -> None:
    in_the_way = sandbox.root / "elsewhere/tool" / brought.told["wheel"] / "theirs"
    in_the_way.mkdir(parents=True)
    words = ("-I", "-c", _BRING, unpacked, sandbox.cache, in_the_way.parents[2])

    done = run((running().executable, *words), sandbox.variables(UNREACHABLE))

    assert "cannot be written" in done.stderr, done.text
    assert sorted(in_the_way.parents[1].rglob("*")) == [in_the_way.parent, in_the_way]


def test_where_the_tool_cannot_be_fetched_no_wheel_is_published(sandbox: Sandbox) -> None:
    sums = sandbox.root / "wheelhouse/tool/SHA256SUMS"
    sums.parent.mkdir(parents=True)
    sums.write_text("no sums\n")

    done = _build(sandbox, sums.parents[1])

    assert done.exit_code == ExitCode.USAGE, done.text
    assert [*sums.parents[1].rglob("*")] == [sums.parent, sums]


def test_where_the_wheel_cannot_be_published_no_tool_is_left(sandbox: Sandbox) -> None:
    in_the_way = sandbox.root / "wheelhouse/simple"
    in_the_way.parent.mkdir()
    in_the_way.touch()

    done = _build(sandbox, in_the_way.parent)

    assert done.exit_code == ExitCode.FAILED_UNCHANGED, done.text
    assert [*in_the_way.parent.rglob("*")] == [in_the_way]


def test_a_tool_that_was_brought_can_be_brought_on(brought: Brought, unpacked: Path, sandbox: Sandbox) -> None:
    done = run((running().executable, "-I", "-c", _OWN_WHEEL, sandbox.root / "cache", unpacked), sandbox.variables())

    assert done.exit_code == 0, done.text
    again = Path(done.stdout.strip())
    assert again.name == brought.told["wheel"]
    assert _contents(again) == _contents(brought.tool / brought.told["wheel"])


def test_a_tool_whose_files_were_altered_is_not_brought_on(brought: Brought, unpacked: Path, sandbox: Sandbox) -> None:
    altered = sandbox.root / "altered"
    _extract(brought.tool / brought.told["wheel"], altered)
    (altered / "fastinstall/__main__.py").write_text("# altered\n")
    words = ("-I", "-c", _OWN_WHEEL, sandbox.root / "cache", altered, unpacked)

    done = run((running().executable, *words), sandbox.variables())

    assert done.exit_code
    assert f"{altered / 'fastinstall/__main__.py'}: changed" in done.stderr


def _set_up(brought: Brought, python: Python, unpacked: Path, sandbox: Sandbox) -> None:
    """Set up and check an environment with the unpacked fastinstall, which `python` runs.

    The environment itself has the Python of the tests, because the wheelhouse's wheel is built for that Python.
    """
    environment = sandbox.venv(running(), pip=False, name=f"env-{python}").prefix
    words = ("--offline", "--wheelhouse", brought.directory, "--prefix", environment, *STOCK)

    done = _bare(sandbox, python, unpacked, "setup", "--yes", *words)
    doctor = _bare(sandbox, python, unpacked, "doctor", "--quick", "--prefix", environment, "--json")

    assert done.exit_code == 0, done.text
    assert doctor.document["status"] in ("ok", "hint"), doctor.text


def _build(sandbox: Sandbox, directory: Path, *words: str) -> Result:
    python = ("--python", running().executable)
    return sandbox.cli("build", "-o", directory, *python, *STOCK, "--with-tool", "--json", *words)


def _unpacked(brought: Brought, python: Python, directory: Path) -> Path:
    """Unpack the tool's wheels for this Python into one directory, as a machine without an index would."""
    own = f"cp{python.version[0]}{python.version[1]}"
    for wheel in brought.tool.glob("*.whl"):
        if wheel.name.split("-")[-2] in ("none", "abi3", own):
            _extract(wheel, directory)
    return directory


def _extract(wheel: Path, directory: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)


def _bare(sandbox: Sandbox, python: Python, unpacked: Path, *words: str | Path) -> Result:
    """Run the unpacked fastinstall with an isolated interpreter, without an index and with an empty cache."""
    cut_off = {**UNREACHABLE, "FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache"), "PATH": "/usr/bin:/bin"}
    return run((python.executable, "-I", "-c", _RUN, unpacked, *words), sandbox.variables(cut_off))


def _contents(wheel: Path) -> dict[str, bytes]:
    """Return all files of a wheel except RECORD, whose lines may be in any order."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
