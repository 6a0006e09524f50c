"""The hook in virtual environments of every Python on this machine: silent if PIL is ours, otherwise one warning."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from support.environments.guarded import CORE, WARNING, Guarded, make_guarded, python_at_hand, warnings

from fastinstall.observe.guard_files import entries_present, list_entries

pytestmark = pytest.mark.main

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
WITHOUT_LINES = "3.18"
"""The first Python that does not run code lines in `.pth` files (PEP 829)."""

SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
getattr(interpreters, "run_string")(other, "import PIL; print(PIL.__version__, flush=True)")
interpreters.destroy(other)
"""


@pytest.fixture(params=VERSIONS)
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Guarded:
    python = python_at_hand(request.param)
    if python is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    return make_guarded(tmp_path, python, name="env with späces")


@pytest.fixture
def own(tmp_path: Path) -> Guarded:
    """Return an environment of the Python that runs the tests, for tests that do not depend on the version."""
    return make_guarded(tmp_path, Path(sys.executable))


@pytest.fixture
def entered(tmp_path: Path) -> Guarded:
    """Return an environment whose guard is started only by its entry point, which Python 3.15 supports."""
    python = python_at_hand("3.15")
    if python is None:
        pytest.skip("Python 3.15 is not on this machine")
    made = make_guarded(tmp_path, python)
    made.guard(version=WITHOUT_LINES)
    assert entries_present(made.site) == list_entries(WITHOUT_LINES)
    return made


@pytest.mark.parametrize("code", ["pass", "import PIL", "import PIL, PIL._version"])
def test_a_healthy_environment_starts_in_silence(guarded: Guarded, code: str) -> None:
    for flags in ((), ("-I",), ("-W", "error")):
        result = guarded.run(*flags, "-c", code)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_start_is_a_light_one(guarded: Guarded) -> None:
    code = (
        "import sys; print(*(name for name in ('_fastinstall_guard.warning', 'hashlib', 're') if name in sys.modules))"
    )
    assert guarded.run("-c", code).stdout == "\n"
    guarded.swap()
    assert guarded.run("-c", code).stdout == "_fastinstall_guard.warning\n"


def test_a_healthy_environment_gets_no_finder_and_no_variable(guarded: Guarded) -> None:
    code = "import os, sys; print(len(sys.meta_path), [name for name in os.environ if 'FASTINSTALL' in name])"
    without = guarded.run("-S", "-c", code).stdout
    assert guarded.run("-c", code).stdout == without == f"{without.split()[0]} []\n"


def test_the_guard_runs_from_its_bytecode_and_leaves_it_alone(guarded: Guarded) -> None:
    files = sorted((guarded.site / "_fastinstall_guard" / "__pycache__").iterdir())
    before = [(file.name, file.stat().st_mtime_ns) for file in files]
    guarded.swap()
    chatter = guarded.run("-v", "-c", "import PIL").stderr
    for file in files:
        assert f"code object from '{file}'" in chatter
        assert str(guarded.prefix / "stage").encode() not in file.read_bytes()
    assert [(file.name, file.stat().st_mtime_ns) for file in sorted(files[0].parent.iterdir())] == before


def test_a_swapped_stack_is_told_once_with_tool_time_and_command(guarded: Guarded) -> None:
    guarded.swap(tool="uv", version="13.0.0")
    result = guarded.run("-c", "import PIL, PIL._version; print(PIL.__version__)")
    what, hint = result.stderr.splitlines()
    assert result.stdout == "13.0.0\n"
    story = (
        rf"{re.escape(WARNING + str(guarded.prefix))} was replaced with Pillow 13\.0\.0 by uv, [-0-9]{{10}} [:0-9]{{5}}"
    )
    assert re.fullmatch(story, what)
    assert shlex.split(hint) == ["hint:", "fastinstall", "doctor", "--fix", "--prefix", str(guarded.prefix)]


@pytest.mark.parametrize("is_gone", [False, True])
def test_the_hint_names_the_program_as_it_was_called_at_setup(own: Guarded, is_gone: bool) -> None:  # noqa: FBT001
    script = own.prefix / "my tools" / "bootstrap.sh"
    script.parent.mkdir()
    script.write_text('for word; do printf "%s\\n" "$word"; done\n')
    own.guard(program=f"sh '{script}'")
    if is_gone:
        script.unlink()
    own.swap()
    hint = own.run("-c", "import PIL").stderr.splitlines()[1].removeprefix("hint: ")
    if is_gone:
        assert hint.startswith("fastinstall doctor ")
    else:
        pasted = own.execute(("sh", "-c", hint)).stdout
        assert pasted.splitlines() == ["doctor", "--fix", "--prefix", str(own.prefix)]


def test_a_swapped_stack_is_not_told_to_who_does_not_import_it(guarded: Guarded) -> None:
    guarded.swap()
    assert guarded.run("-c", "import json, os").stderr == ""


def test_a_subinterpreter_is_silent(guarded: Guarded) -> None:
    guarded.swap()
    result = guarded.run("-c", SUBINTERPRETER)
    assert (result.stdout, result.stderr) == ("13.0.0\n", "")


def test_other_times_on_the_same_bytes_are_healthy(guarded: Guarded) -> None:
    for name in (CORE, "PIL/_version.py"):
        os.utime(guarded.site / name, (1, 1))
    assert guarded.run("-c", "import PIL").stderr == ""


def test_a_moved_environment_is_guarded_where_it_is(guarded: Guarded) -> None:
    moved = Guarded(prefix=guarded.prefix.rename(guarded.prefix.with_name("moved")), temporary=guarded.temporary)
    assert moved.run("-c", "import PIL").stderr == ""
    moved.swap()
    assert f"{WARNING}{moved.prefix} was replaced" in moved.run("-c", "import PIL").stderr


def test_a_second_start_in_one_interpreter_does_nothing(guarded: Guarded) -> None:
    guarded.swap()
    code = "import sys, _fastinstall_guard as guard; guard.start(); print([type(f).__name__ for f in sys.meta_path])"
    assert guarded.run("-c", code).stdout.count("Listener") == 1


def test_a_variable_switches_it_off(guarded: Guarded) -> None:
    guarded.swap()
    assert guarded.run("-c", "import PIL", FASTINSTALL_GUARD="0").stderr == ""
    assert guarded.run("-c", "import PIL", FASTINSTALL_GUARD="1").stderr != ""


def test_a_guard_without_its_bytecode_still_warns(guarded: Guarded) -> None:
    (guarded.site / "_fastinstall_guard" / "__pycache__").rename(guarded.prefix / "elsewhere")
    guarded.swap()
    assert guarded.run("-c", "import PIL").stderr.startswith(WARNING)


@pytest.mark.parametrize(
    ("damage", "story"),
    [
        ("rm -r PIL", "was removed"),
        (f"rm {CORE}", "is incomplete"),
        (f"echo x >> {CORE}", "was replaced with another build"),
        (f"echo '__version__ = \"9.5.0\"' > PIL/_version.py; rm {CORE}", "was replaced with Pillow 9.5.0"),
        ("echo '__version__ = \"9.5.0\"' > PIL/_version.py", "is mixed with files of Pillow 9.5.0"),
        ("rm PIL/_version.py", "is mixed with files of Pillow ?"),
        ("> PIL/_version.py", "is mixed with files of Pillow ?"),
    ],
)
def test_what_became_of_the_stack_is_named(own: Guarded, damage: str, story: str) -> None:
    own.execute(("sh", "-c", f"cd '{own.site}'; {damage}"))
    code = "import importlib.util\ntry: import PIL\nexcept ImportError: pass"
    assert own.run("-c", code).stderr.splitlines()[0] == f"{WARNING}{own.prefix} {story}"


def test_the_newest_metadata_names_the_tool(own: Guarded) -> None:
    own.swap(tool="poetry 2.1", version="14.0.0")
    os.utime(own.site / "pillow-14.0.0.dist-info", (1, 1))
    own.swap(tool="conda", version="13.0.0")
    assert " by conda, " in own.run("-c", "import PIL").stderr


def test_our_own_metadata_is_no_culprit(own: Guarded) -> None:
    own.swap(tool="fastinstall", version="12.0.0")
    assert own.run("-c", "import PIL").stderr.splitlines()[0].endswith(" was replaced with Pillow 12.0.0")


def test_leftover_metadata_does_not_say_who_removed_the_package(own: Guarded) -> None:
    own.swap(tool="uv")
    (own.site / "PIL").rename(own.prefix / "elsewhere")
    result = own.run("-c", "import PIL")
    assert result.returncode == 1
    assert result.stderr.splitlines()[0].endswith(" was removed")


def test_replacing_without_pip_is_silent_until_the_next_import(own: Guarded) -> None:
    code = f"import os; os.system('echo more >> {own.site / CORE}')"
    assert own.run("-c", code).stderr == ""
    assert own.run("-c", "import PIL").stderr.startswith(WARNING)


def test_the_finder_leaves_with_the_first_import(own: Guarded) -> None:
    own.swap()
    code = "import sys; before = len(sys.meta_path); import PIL; print(before - len(sys.meta_path))"
    assert own.run("-c", code).stdout == "1\n"


def test_from_a_venv_on_top_the_guard_names_its_own_prefix(own: Guarded) -> None:
    own.swap()
    above = "import site, sys; sys.base_prefix, sys.prefix = sys.argv[1], '/on/top'; site.addsitedir(sys.argv[2])"
    result = own.run("-S", "-c", f"{above}; import PIL", own.prefix, own.site)
    assert result.stderr.splitlines()[1] == f"hint: fastinstall doctor --fix --prefix {own.prefix}"


def test_an_entry_point_starts_the_guard_where_no_line_is_run(entered: Guarded) -> None:
    for flags in ((), ("-I",), ("-W", "error", "-X", "dev")):
        assert entered.run(*flags, "-c", "import PIL").stderr == ""
    entered.swap()
    assert len(warnings(entered.run("-c", "import PIL"))) == 1


@pytest.mark.parametrize("damage", ["", "x = (", "raise SystemExit(3)\n", "1 / 0\n"])
def test_an_entry_point_leaves_a_damaged_guard_alone(entered: Guarded, damage: str) -> None:
    (entered.site / "_fastinstall_guard" / "__init__.py").write_text(damage)
    result = entered.run("-c", "import PIL, sys; sys.exit(7)")
    assert (result.returncode, result.stderr) == (7, "")
    shutil.rmtree(entered.site / "_fastinstall_guard")
    assert entered.run("-c", "import PIL").stderr == ""


def test_startup_imports_no_extra_standard_library_module(guarded: Guarded) -> None:
    code = "import sys; print(*sorted(sys.modules))"
    modules = guarded.run("-c", code).stdout.split()
    (guarded.site / "fastinstall_guard.pth").write_text("# any such file is decoded by utf-8-sig\n")
    without = guarded.run("-c", code).stdout.split()
    assert set(modules) - set(without) == {"_fastinstall_guard", "atexit"}
