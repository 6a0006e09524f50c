"""A wheelhouse for two Pythons, built by fastinstall; other tools then install from it or lock its wheels."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from json_schema import json_schema
from jsonschema import Draft202012Validator
from support.environments.interpreters import Python, at_hand, running
from support.index.static_server import serving_files
from support.projects.tools import ProjectTools
from support.projects.tools import project_tools as project_tools  # noqa: PLC0414 (a fixture of this module)
from support.sandbox import UV, NewSandbox, Result, Sandbox, run, tree_hash

from fastinstall.fleet.fleet import Fleet
from fastinstall.fleet.host_plan import PYTHONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

MANIFEST = """\
[project]
name = "gallery"
version = "0.1.0"
requires-python = ">=3.11,<4"
dependencies = ["pillow"]
"""
OF_TOOLS = {
    "uv": """
[[tool.uv.index]]
name = "stack"
url = "{url}"
explicit = true

[tool.uv.sources]
pillow = {{ index = "stack" }}
""",
    "poetry": """
[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "stack"
url = "{url}/"
priority = "explicit"

[tool.poetry.dependencies]
pillow = {{ source = "stack" }}
""",
    "pdm": """
[tool.pdm]
distribution = false

[[tool.pdm.source]]
name = "stack"
url = "{url}"
verify_ssl = false
include_packages = ["pillow"]
exclude_packages = ["*"]

[[tool.pdm.source]]
name = "pypi"
url = "{url}"
verify_ssl = false
exclude_packages = ["pillow"]
""",
}
"""Additions to a project's manifest, by tool, as the how-to page for the index gives them."""


@dataclass(frozen=True, kw_only=True)
class Set:
    """A wheelhouse that was built, and is now served over HTTP.

    Attributes:
        directory: contains the wheels and the index's pages.
        told: the JSON document printed by the build.
        url: address of the wheelhouse's index.
        pythons: the Pythons for which it has wheels.
        path: a PATH on which only these Pythons are found.
    """

    directory: Path
    told: dict[str, object]
    url: str
    pythons: tuple[Python, ...]
    path: str

    def wheel_for(self, python: Python) -> dict[str, str]:
        """Return the entry for a Python's wheel in the build's document."""
        wheels: list[dict[str, str]] = self.told["artefacts"]  # type: ignore[assignment]  # by the schema
        return next(each for each in wheels if each["abi"] == f"cp{str(python).replace('.', '')}")


@pytest.fixture(scope="module")
def built(new_sandbox: NewSandbox) -> Iterator[Set]:
    """Yield a wheelhouse for two Pythons, the tests' own and the newest available; its wheels are built beforehand."""
    newest = [each for each in at_hand() if each.version >= (3, 11)][-1]
    pythons = tuple({each.version: each for each in (running(), newest)}.values())
    with new_sandbox() as sandbox:
        directory = sandbox.root / "served" / "stack"
        for python in pythons:  # in a command of its own, so that each build has the time limit of a whole command
            alone = sandbox.cli("build", "-o", sandbox.root / "alone", "--python", python.executable)
            assert alone.exit_code == 0, alone.text
        path = os.pathsep.join(str(python.executable.parent) for python in pythons)
        done = _build(sandbox, directory, path)
        assert done.exit_code == 0, done.text
        with serving_files(sandbox.root / "served") as server:
            url = f"{server.url}/stack/simple"
            yield Set(directory=directory, told=done.document, url=url, pythons=pythons, path=path)


def _build(sandbox: Sandbox, directory: Path, path: str) -> Result:
    return sandbox.cli("build", "--set", "-o", directory, "--json", env={"PATH": path})


def test_a_set_has_a_wheel_per_python_and_names_missing_pythons(built: Set) -> None:
    Draft202012Validator(json_schema(Fleet, name="fleet")).validate(built.told)
    sums = (built.directory / "SHA256SUMS").read_text()
    for python in built.pythons:
        wheel = built.wheel_for(python)
        assert f"{wheel['sha256']}  {wheel['wheel']}\n" in sums
        assert "manylinux" in wheel["wheel"]
    artefacts: list[dict[str, str]] = built.told["artefacts"]  # type: ignore[assignment]  # by the schema
    assert len(artefacts) == len(PYTHONS)
    missing = [artefact for artefact in artefacts if artefact["wheel"] is None]
    assert missing
    assert [artefact["builder"] for artefact in missing] == [None] * len(missing)
    assert all("this machine has no CPython" in artefact["problem"] for artefact in missing)


def test_what_is_there_is_not_built_again(sandbox: Sandbox, built: Set) -> None:
    before = tree_hash(built.directory)
    again = _build(sandbox, built.directory, built.path)
    assert again.exit_code == 0, again.text
    assert again.stderr.count("is there already") == len(built.pythons)
    assert tree_hash(built.directory) == before


def test_pip_alone_installs_it_and_doctor_finds_it_healthy(sandbox: Sandbox, built: Set) -> None:
    for python in built.pythons:
        venv = sandbox.venv(python, name=f"env-{python}")
        begun = time.monotonic()
        installed = venv.pip("install", "--no-cache-dir", "--index-url", built.url, "pillow")
        seconds = time.monotonic() - begun
        assert installed.exit_code == 0, installed.text
        assert seconds < 60, "a wheel of 7 MB is copied, and nothing is compiled"
        imported = venv.run("-c", "from PIL import Image; print(Image.new('RGB', (9, 9)).resize((3, 3)).size)")
        assert imported.stdout == "(3, 3)\n", imported.text
        assert venv.pip("check").exit_code == 0

        doctor = sandbox.cli("doctor", "--prefix", venv.prefix, "--json", "--fail-on", "warning")
        assert doctor.exit_code == 0, doctor.text
        status = {finding["check"]: finding["status"] for finding in doctor.document["findings"]}
        assert doctor.document["status"] == "ok"
        assert status["simd-active"] == status["pillow-files"] == "ok"
        assert status["swapped"] == status["guards"] == "skipped"


@pytest.mark.parametrize("manager", OF_TOOLS)
def test_a_project_locks_it_twice_alike(
    sandbox: Sandbox, built: Set, project_tools: ProjectTools, manager: str
) -> None:
    locks = [_lock(sandbox.root / name, manager, built, sandbox, project_tools) for name in ("once", "twice")]
    assert locks[0] == locks[1]
    hashes = [built.wheel_for(python)["sha256"] for python in built.pythons]
    assert [each for each in hashes if each not in locks[0]] == []


def _lock(directory: Path, manager: str, built: Set, sandbox: Sandbox, tools: ProjectTools) -> str:
    """Lock a new project with empty caches, and return the lock's text."""
    directory.mkdir()
    (directory / "pyproject.toml").write_text(MANIFEST + OF_TOOLS[manager].format(url=built.url))
    caches = {f"{name.upper()}_CACHE_DIR": str(directory / "cache" / name) for name in OF_TOOLS}
    own = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "PDM_CHECK_UPDATE": "0"}
    variables = sandbox.variables({**caches, **own, "UV_PYTHON_DOWNLOADS": "never"})
    program = UV if manager == "uv" else tools.bin / manager
    python = ("--python", str(running().executable)) if manager == "uv" else ()
    done = run((program, "lock", *python), variables, directory=directory)
    assert done.exit_code == 0, done.text
    return (directory / f"{manager}.lock").read_text()
