"""The parts of a release: sdist, wheel, bill of materials and notes, built as in .github/workflows/release.yml."""

import csv
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.machine.needs import require_system
from support.sandbox import UV, NewSandbox, Sandbox, run
from support.suite import extent

from fastinstall import __version__

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / ".github" / "scripts"
NAME = f"fastinstall-{__version__}"
JUNK = (
    "fastinstall/__pycache__/planted.cpython-311.pyc",
    "tests/__pycache__/planted.cpython-311.pyc",
    ".pytest_cache/planted",
    ".mypy_cache/planted",
    ".ruff_cache/planted",
    ".coverage",
    "dist/planted.whl",
)
NEEDED = (
    *("fastinstall/py.typed", "fastinstall/_data/recipes/pillow-fast.toml", "fastinstall/_data/recipes/pillow.toml"),
    *("fastinstall/_data/recipes/pillow-simd.toml", "fastinstall/_data/hooks/_fastinstall_guard/__init__.py"),
    *("fastinstall/cli/main.py", "fastinstall/proof/_worker.py", "fastinstall/proof/_runner.py"),
    f"{NAME}.data/data/share/man/man1/fastinstall.1",
)


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """Yield a sandbox with a checkout, in which daily work has left files, and space for the release's files."""
    with new_sandbox() as sandbox:
        tree = sandbox.root / "tree"
        shutil.copytree(
            ROOT, tree, ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "node_modules"), symlinks=True
        )
        for file in JUNK:
            tree.joinpath(file).parent.mkdir(parents=True, exist_ok=True)
            tree.joinpath(file).write_text("planted")
        yield sandbox


@pytest.fixture(scope="module")
def dist(builder: Path, place: Sandbox) -> Path:
    """Return the directory of the built sdist, and of the wheel built from it."""
    return _build(builder, place, "dist")


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(dist / f"{NAME}-py3-none-any.whl")


@pytest.fixture(scope="module")
def empty(place: Sandbox, dist: Path) -> Path:
    """Return a fresh environment with only the wheel and its requirements."""
    prefix = place.root / "empty"
    _environment(prefix, place, dist / f"{NAME}-py3-none-any.whl")
    return prefix


@pytest.fixture(scope="module")
def builder(place: Sandbox) -> Path:
    """Return an interpreter with `build` and the build backend, so that `build` need not create environments."""
    require_system(find_spec("build"), "build of the dependency group release")
    prefix = place.root / "builder"
    _environment(
        prefix, place, "build", *tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    )
    return prefix / "bin" / "python"


def _environment(prefix: Path, place: Sandbox, *requirements: str | Path) -> None:
    variables = place.variables()
    made = run((UV, "venv", "--quiet", "--no-project", "--python", sys.executable, prefix), variables)
    assert made.exit_code == 0, made.text
    words = (UV, "pip", "install", "--quiet", "--python", prefix / "bin/python", *requirements)
    installed = run(words, variables, directory=place.root)
    assert installed.exit_code == 0, installed.text


def _build(builder: Path, place: Sandbox, name: str, *arguments: str) -> Path:
    variables = place.variables({"SOURCE_DATE_EPOCH": "1700000000"})
    words: tuple[str | Path, ...] = (
        builder,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        place.root / name,
        *arguments,
    )
    built = run((*words, place.root / "tree"), variables)
    assert built.exit_code == 0, built.text
    return place.root / name


def _metadata(wheel: zipfile.ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())


def test_the_wheel_has_code_data_and_man_page_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert [name for name in NEEDED if name not in names] == []
    assert {name.split("/")[0] for name in names} == {"fastinstall", f"{NAME}.dist-info", f"{NAME}.data"}
    assert [name for name in names if "planted" in name or name.endswith((".pyc", ".so"))] == []


def test_every_file_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile, place: Sandbox) -> None:
    package = place.root / "tree"
    files = {path.relative_to(package).as_posix() for path in (package / "fastinstall").rglob("*") if path.is_file()}
    ignored = {name for name in files if "__pycache__" in name}
    assert files - ignored <= set(wheel.namelist())


def test_its_metadata_are_those_of_the_project(wheel: zipfile.ZipFile) -> None:
    metadata = _metadata(wheel)
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert b"fastinstall = fastinstall.cli.main:main" in wheel.read(f"{NAME}.dist-info/entry_points.txt")
    record = csv.reader(io.StringIO(wheel.read(f"{NAME}.dist-info/RECORD").decode()))
    assert {row[0] for row in record} == set(wheel.namelist())


def test_the_sdist_has_tests_and_documentation_and_no_stray_file(dist: Path) -> None:
    with tarfile.open(dist / f"{NAME}.tar.gz") as archive:
        names = [name.removeprefix(f"{NAME}/") for name in archive.getnames()]
    needed = (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "bootstrap.sh",
        "requirements/tool.txt",
        "tests/run.py",
        "docs/reference/cli.md",
    )
    assert [name for name in needed if name not in names] == []
    assert [name for name in names if "planted" in name or name in JUNK or "__pycache__" in name] == []


def test_a_tree_gives_the_same_bytes_with_or_without_the_sdist(dist: Path, builder: Path, place: Sandbox) -> None:
    kinds = ("--sdist", "--wheel") if extent.every_row else ("--wheel",)
    again = sorted(_build(builder, place, "again", *kinds).iterdir())
    assert len(again) == len(kinds)
    assert [file.name for file in again if file.read_bytes() != (dist / file.name).read_bytes()] == []


def test_twine_accepts_both(dist: Path, place: Sandbox) -> None:
    require_system(find_spec("twine"), "twine of the dependency group release")
    checked = run((sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir()), place.variables())
    assert checked.exit_code == 0, checked.text


def test_it_runs_where_nothing_was(empty: Path, place: Sandbox) -> None:
    program = empty / "bin" / "fastinstall"
    version = run((program, "--version"), place.variables(), directory=place.root)
    assert version.stdout == f"fastinstall {__version__}\n"
    recipes = run((program, "recipes", "list", "--json"), place.variables(), directory=place.root)
    assert recipes.exit_code == 0, recipes.text
    assert "pillow-fast" in {recipe["name"] for recipe in recipes.document["recipes"]}
    assert (empty / "share/man/man1/fastinstall.1").is_file()


def test_its_bill_of_materials_names_it_and_all_that_it_brings(empty: Path, dist: Path, place: Sandbox) -> None:
    require_system(find_spec("cyclonedx_py"), "cyclonedx-bom of the dependency group release")
    output, file = place.root / "fastinstall.cdx.json", dist / f"{NAME}-py3-none-any.whl"
    words = (sys.executable, SCRIPTS / "sbom.py", empty / "bin/python", file, output)
    made = run(words, place.variables())
    assert made.exit_code == 0, made.text
    bill = json.loads(output.read_text())
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/fastinstall@{__version__}"
    assert len(bill["metadata"]["component"]["hashes"][0]["content"]) == 64
    root = next(each for each in bill["dependencies"] if each["ref"] == "root-component")
    assert {"packaging", "rich", "pip"} <= {ref.partition("==")[0] for ref in root["dependsOn"]}
    assert str(place.root) not in output.read_text()


def _notes(tag: str, directory: Path, version: str, changelog: str) -> "subprocess.CompletedProcess[str]":
    """Run the script that prints release notes, in a checkout with this version and this changelog."""
    scripts = directory / ".github" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(SCRIPTS / "release_notes.py", scripts)
    (directory / "fastinstall").mkdir()
    (directory / "fastinstall" / "__init__.py").write_text(f'"""Text."""\n\n__version__ = "{version}"\n')
    (directory / "CHANGELOG.md").write_text(changelog)
    words = (sys.executable, scripts / "release_notes.py", tag)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section(tmp_path: Path) -> None:
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n- More.\n\n## [1.1.0] - 2025-01-01\n\n- Less.\n"
    )
    made = _notes("v1.2.0", tmp_path, "1.2.0", changelog)
    assert (made.returncode, made.stdout) == (0, "- More.\n")


@pytest.mark.parametrize(
    ("tag", "changelog", "problem"),
    [
        ("v1.2.1", "## [1.2.0] - 2026-01-31\n\n- More.\n", "the tag is v1.2.1, and fastinstall/__init__.py says 1.2.0"),
        ("v1.2.0", "## [Unreleased]\n\n- More.\n", 'CHANGELOG.md has no section "## [1.2.0] - YYYY-MM-DD"'),
        (
            "v1.2.0",
            "## [1.2.0] - 2026-01-31\n\n## [1.1.0] - 2025-01-01\n",
            "the section of 1.2.0 in CHANGELOG.md is empty",
        ),
    ],
)
def test_a_release_whose_tag_version_and_changelog_differ_fails(
    tmp_path: Path, tag: str, changelog: str, problem: str
) -> None:
    made = _notes(tag, tmp_path, "1.2.0", changelog)
    assert (made.returncode, made.stdout, made.stderr) == (1, "", f"error: {problem}\n")


def test_groff_has_nothing_to_say_about_the_man_page() -> None:
    require_system(shutil.which("groff"), "groff (groff-base)")
    words = ("groff", "-ww", "-mandoc", "-b", "-z", ROOT / "docs" / "reference" / "fastinstall.1")
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
