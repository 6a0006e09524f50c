"""Which parts of the guard are installed, and their problems."""

import os
import py_compile
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.directories import hooks_directory
from fastinstall.elf.description import ImagingCore
from fastinstall.model.guards import GuardState
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import (
    GUARD_STATE,
    GUARD_VERSION,
    entries_present,
    list_entries,
    list_sources,
    observe_guard,
    render_state,
)

PYTHON, LATER = "3.17.1", "3.18.0"
"""The last minor version of Python that runs code lines in `.pth` files, and the first that does not (PEP 829)."""
SOURCES = list_sources(PYTHON)

CORE = ImagingCore(path=Path("PIL/_imaging.so"), size=3, mtime_ns=5, sha256="ab" * 32, readable=True)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a site-packages with an intact guard."""
    for name in SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((hooks_directory() / name).read_bytes())
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL/_version.py").touch()
    core = BuiltCore(path="PIL/_imaging.so", size=3, mtime_ns=5, sha256=CORE.sha256, simd_symbols=("Kernel",))
    (tmp_path / GUARD_STATE).write_text(render_state(tmp_path, core, "12.1.1"))
    for module in (tmp_path / "_fastinstall_guard").glob("*.py"):
        mode = py_compile.PycInvalidationMode.TIMESTAMP
        py_compile.compile(os.fspath(module), doraise=True, invalidation_mode=mode)
    return tmp_path


def test_an_environment_without_it(tmp_path: Path) -> None:
    assert observe_guard(tmp_path, PYTHON, CORE) == GuardState(installed=False)
    assert entries_present(tmp_path) == ()


def test_one_as_it_should_be(site: Path) -> None:
    assert observe_guard(site, PYTHON, CORE) == GuardState(installed=True, version=GUARD_VERSION)
    assert entries_present(site) == list_entries(PYTHON)


@pytest.mark.parametrize("name", [*SOURCES, GUARD_STATE])
def test_a_missing_file_is_named(site: Path, name: str) -> None:
    (site / name).unlink()
    assert f"{name} is missing" in observe_guard(site, PYTHON, CORE).problems


@pytest.mark.parametrize("name", SOURCES)
def test_an_altered_file_is_named(site: Path, name: str) -> None:
    with (site / name).open("a") as stream:
        stream.write("# more\n")
    assert f"{name} is altered" in observe_guard(site, PYTHON, CORE).problems


def test_another_version_is_outdated_and_not_altered(site: Path, golden: Golden) -> None:
    hook = site / SOURCES[0]
    hook.write_text(hook.read_text().replace(f'VERSION = "{GUARD_VERSION}"', 'VERSION = "0"'))
    state = observe_guard(site, PYTHON, CORE)
    assert state.version == "0"
    (problem,) = state.problems
    golden(problem, VERSION=GUARD_VERSION)


def test_a_leftover_is_an_installed_guard_with_problems(site: Path) -> None:
    for name in (*SOURCES[:2], GUARD_STATE, "fastinstall_guard.pth"):
        (site / name).unlink()
    state = observe_guard(site, PYTHON, CORE)
    assert (state.installed, state.version) == (True, "")
    assert len(state.problems) == 4


@pytest.mark.parametrize("module", ["__init__", "warning"])
@pytest.mark.parametrize("damage", ["touch", "remove", "truncate"])
def test_bytecode_that_python_would_not_take_is_named(site: Path, module: str, damage: str) -> None:
    package = site / "_fastinstall_guard"
    (bytecode,) = (package / "__pycache__").glob(f"{module}.*")
    if damage == "touch":
        os.utime(package / f"{module}.py", (1, 1))
    elif damage == "remove":
        bytecode.unlink()
    else:
        bytecode.write_bytes(bytecode.read_bytes()[:10])
    (problem,) = observe_guard(site, PYTHON, CORE).problems
    assert "not compiled" in problem


def test_a_state_of_another_core_is_named(site: Path) -> None:
    other = ImagingCore(path=CORE.path, size=3, mtime_ns=5, sha256="cd" * 32, readable=True)
    (problem,) = observe_guard(site, PYTHON, other).problems
    assert "PIL/_imaging.so, which has changed since" in problem


def test_a_state_of_a_core_that_is_gone_is_named(site: Path) -> None:
    (problem,) = observe_guard(site, PYTHON, None).problems
    assert "C extension is missing" in problem


def test_a_state_that_cannot_be_read_is_named(site: Path) -> None:
    (site / GUARD_STATE).write_bytes(b"\xff\xfe")
    assert observe_guard(site, PYTHON, CORE).problems == (f"{GUARD_STATE} is altered",)


def test_a_flipped_byte_of_the_state_is_named_wherever_it_is(site: Path) -> None:
    whole = (site / GUARD_STATE).read_bytes()
    for place in range(len(whole)):
        (site / GUARD_STATE).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert observe_guard(site, PYTHON, CORE).problems == (f"{GUARD_STATE} is altered",), whole[place:][:40]


def test_other_times_on_the_same_core_are_no_problem(site: Path) -> None:
    touched = ImagingCore(path=CORE.path, size=3, mtime_ns=6, sha256=CORE.sha256, readable=True)
    assert observe_guard(site, PYTHON, touched).problems == ()


def test_the_hook_and_the_installer_agree_on_the_version() -> None:
    hook = (hooks_directory() / SOURCES[0]).read_text()
    assert f'\nVERSION = "{GUARD_VERSION}"\n' in hook


def test_the_start_up_line_knows_the_size_of_what_it_loads() -> None:
    size = (hooks_directory() / SOURCES[0]).stat().st_size
    lines = (hooks_directory() / "fastinstall_guard.pth").read_text().splitlines()
    (line,) = (line for line in lines if not line.startswith("#"))
    assert line.startswith("import ")
    assert f".st_size == {size} and " in line


@pytest.mark.parametrize("name", sorted({*SOURCES, *list_sources(LATER)}))
def test_each_file_says_who_put_it_there_and_how_to_remove_it(name: str) -> None:
    text = (hooks_directory() / name).read_text(encoding="ascii")
    assert "Put here by fastinstall" in text
    assert "fastinstall guard remove --prefix" in text


def test_the_start_file_has_one_entry_point() -> None:
    lines = (hooks_directory() / "fastinstall_guard.start").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["_fastinstall_start:start"]


def test_the_entry_point_knows_the_size_of_what_it_loads() -> None:
    size = (hooks_directory() / SOURCES[0]).stat().st_size
    assert f"\nSIZE = {size}\n" in (hooks_directory() / "_fastinstall_start.py").read_text()


def test_what_starts_the_guard_of_another_python_is_named(site: Path) -> None:
    for name in list_entries(LATER)[1:]:
        (site / name).write_bytes((hooks_directory() / name).read_bytes())
    assert "fastinstall_guard.start is not for this Python" in observe_guard(site, PYTHON, CORE).problems
    assert observe_guard(site, LATER, CORE).problems == ("fastinstall_guard.pth is not for this Python",)
