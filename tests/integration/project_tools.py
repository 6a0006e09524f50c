"""poetry and pdm for tests: in a virtual environment of their own, made once and kept in the test cache.

Neither is a dependency of the tests: both bring dozens of distributions.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from interpreters import running
from made_once import key_of, made_once
from sandbox import UV, Sandbox, run

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
"""What a manifest has for its tool, besides; `url` is the index that it asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTools:
    """The programs that make environments of a project's manifest.

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
    """poetry and pdm, the same for all workers."""
    root = tmp_path_factory.mktemp("project-tools")
    variables = Sandbox(root=root, cache=shared_cache, downloads=root / "downloads").variables()
    directory = shared_cache / "testbed" / f"project-tools-{key_of(*REQUIREMENTS)}"
    made_once(directory, lambda place: _make(place, variables))
    return ProjectTools(bin=directory / "bin")


def _make(place: Path, variables: dict[str, str]) -> None:
    python = place / "bin" / "python"
    for argv in (
        (UV, "venv", "--quiet", "--no-project", "--allow-existing", "--python", running().executable, place),
        (UV, "pip", "install", "--quiet", "--python", python, "--compile-bytecode", *REQUIREMENTS),
    ):
        made = run(argv, variables)
        assert made.exit_code == 0, made.text
