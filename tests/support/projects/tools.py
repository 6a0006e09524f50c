"""poetry and pdm for tests, in a virtual environment of their own, built once and kept in the test cache.

Neither is a dependency of the tests, as both require dozens of distributions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.made_once import key_of, made_once
from support.sandbox import UV, Sandbox, run

REQUIREMENTS = ("poetry==2.5.1", "pdm[locked]==2.29.3")
OF_POETRY = """
[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "local"
url = "{url}"
priority = "primary"
"""
OF_PDM = """
[tool.pdm]
distribution = false

[[tool.pdm.source]]
name = "pypi"
url = "{url}"
verify_ssl = false
"""
"""Additions to a manifest for each tool; `url` is the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTools:
    """Programs that create environments from a project's manifest.

    Attributes:
        bin: the directory of poetry and pdm.
    """

    bin: Path

    @property
    def poetry(self) -> Path:
        return self.bin / "poetry"

    @property
    def pdm(self) -> Path:
        return self.bin / "pdm"


@pytest.fixture(scope="session")
def project_tools(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> ProjectTools:
    """Return poetry and pdm, shared by all workers."""
    root = tmp_path_factory.mktemp("project-tools")
    return made_project_tools(Sandbox(root=root, cache=shared_cache, downloads=root / "downloads"))


def made_project_tools(sandbox: Sandbox) -> ProjectTools:
    """Return poetry and pdm from the cache of a sandbox."""
    return ProjectTools(bin=programs("project-tools", REQUIREMENTS, sandbox))


def programs(name: str, requirements: Sequence[str], sandbox: Sandbox) -> Path:
    """Return the `bin` directory of an environment with these requirements, built once and kept in the cache."""
    variables = sandbox.variables()

    def make(place: Path) -> None:
        python = place / "bin" / "python"
        venv = (UV, "venv", "--quiet", "--no-project", "--allow-existing", "--python", running().executable, place)
        made = run(venv, variables)
        assert made.exit_code == 0, made.text
        install: tuple[str | Path, ...] = (UV, "pip", "install", "--quiet", "--python", python, "--compile-bytecode")
        installed = run((*install, *requirements), variables)
        assert installed.exit_code == 0, installed.text

    return made_once(sandbox.cache / "testbed" / f"{name}-{key_of(*requirements)}", make) / "bin"
