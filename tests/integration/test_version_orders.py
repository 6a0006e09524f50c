"""Versions are ordered as the installing tools order them: conda, Poetry and uv are run for comparison."""

import itertools
import json

import pytest
from support.conda.real_conda import vendored_conda
from support.conda.versions import SPECS, VERSIONS
from support.environments.interpreters import running
from support.projects.tools import ProjectTools
from support.projects.tools import project_tools as project_tools  # noqa: PLC0414 (a fixture of this module)
from support.sandbox import Sandbox, run

from fastinstall.core.version_numbers import contains, parse_version_number
from fastinstall.lockcheck.files import check_locks
from fastinstall.model.conda_versions import CondaVersion, meets_conda_spec
from fastinstall.model.finding import Status

OF_PYTHON = (
    *("9", "9.5", "9.5.0", "9.5.1", "9.5.0.post1", "12.1.1", "12.1.1.post0", "12.1.1rc1", "13.0.0.dev0", "13.0.0a1"),
    *("13.0.0rc1", "13.0.0", "13.1.0", "1!2.0", "12.1.1+simd", "12.1.1+1", "13.0.0+simd.v3", "13.0.0+simd.v2.v3"),
    *("13.0.0rc1+simd", "13.0.0.post1+simd"),
)
SPECIFIERS = (
    *(sign + number for sign in ("==", "!=", ">=", "<=", ">", "<") for number in ("9.5", "12.1.1", "13.0.0rc1", "13")),
    *("==13.0.0+simd.v3", "!=13.0.0+simd.v3", "~=12.1", "==12.*", "!=13.0.*", ">=9.5,<13", ">=12.1.1.post0"),
)
BY_CONDA = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from conda.models.version import VersionOrder, VersionSpec
specs, versions = json.loads(sys.argv[1])
orders = [[VersionOrder(a) < VersionOrder(b), VersionOrder(a) == VersionOrder(b)] for a in versions for b in versions]
print(json.dumps([orders, [[bool(VersionSpec(spec).match(version)) for version in versions] for spec in specs]]))
"""
BY_POETRY = """
import json, sys
from poetry.core.constraints.version import Version, parse_constraint
specs, texts = json.loads(sys.argv[1])
versions = [Version.parse(text) for text in texts]
orders = [[a < b, a == b] for a in versions for b in versions]
print(json.dumps([orders, [[parse_constraint(spec).allows(version) for version in versions] for spec in specs]]))
"""


def test_conda_orders_versions_and_reads_specs_as_we_do(sandbox: Sandbox) -> None:
    conda = vendored_conda(sandbox.cache, sandbox.root, sandbox.variables())
    words = json.dumps([SPECS, VERSIONS])
    orders, matches = json.loads(run((conda.python, "-c", BY_CONDA, words), conda.variables).stdout)
    pairs = itertools.product(map(CondaVersion, VERSIONS), repeat=2)
    assert [[one < other, one == other] for one, other in pairs] == orders
    for spec, theirs in zip(SPECS, matches, strict=True):
        assert [meets_conda_spec(spec, version) for version in VERSIONS] == theirs, spec


def test_poetry_orders_versions_and_reads_specifiers_as_we_do(project_tools: ProjectTools, sandbox: Sandbox) -> None:
    python, words = project_tools.bin / "python", json.dumps([SPECIFIERS, OF_PYTHON])
    orders, allowed = json.loads(run((python, "-c", BY_POETRY, words), sandbox.variables()).stdout)
    pairs = itertools.product(map(parse_version_number, OF_PYTHON), repeat=2)
    assert [[one < other, one == other] for one, other in pairs] == orders
    for spec, theirs in zip(SPECIFIERS, allowed, strict=True):
        assert [contains(spec, version) for version in OF_PYTHON] == theirs, spec


@pytest.mark.parametrize("line", ["pillow>=13.0.0+simd.v3", "pillow~=13.0.0+simd.v3"])
def test_a_label_in_a_range_is_refused_by_pip_and_uv_too(line: str, sandbox: Sandbox) -> None:
    file = sandbox.root / "requirements.txt"
    file.write_text(f"{line}\n")
    assert check_locks([file]).status is Status.ERROR
    environment = sandbox.venv(running())
    words = ("install", "--dry-run", "--no-index", "-r", str(file))
    for refused in (environment.pip(*words), environment.uv(*words)):
        assert refused.exit_code != 0
        assert "simd.v3" in refused.text
