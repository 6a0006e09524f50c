"""The wizard in a terminal of 80 columns. A run takes seconds, so each test checks several things."""

import re
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.sandbox import Sandbox, Variables, Venv, tree_hash
from support.terminal.pseudo_terminal import COLUMNS, CTRL_C, CTRL_D, ENTER, ROWS, Terminal, terminal
from support.terminal.wizard_person import MENU, TOPICS, WHERE, Person
from support.terminal.wizard_screens import assert_screen, settled

pytest_plugins = ("support.terminal.wizard_fixtures",)

CANCELLED = "cancelled; nothing was changed"
LEVELS = "x86-64-v2,x86-64-v3"
FORK = {"FASTINSTALL_RECIPE": "pillow-simd", "FASTINSTALL_LEVELS": LEVELS}
"""Settings for Pillow-SIMD at the usual levels, so that the wheel is one that other tests build."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m")


@pytest.fixture
def empty(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


@pytest.mark.main
def test_the_overview_fits_on_stderr_and_cancel_changes_nothing(sandbox: Sandbox, empty: Venv) -> None:
    before, results = tree_hash(empty.prefix), sandbox.root / "results"
    with _setup(sandbox, empty, stdout=results) as shown:
        found = shown.expect("CPU ")
        for row in (
            "Python 3.",
            "Environment ./env",
            "Pillow not installed",
            "Change install pillow",
            "Speed ",
            "Undo ",
        ):
            found = shown.expect(row, after=found)
        shown.expect(MENU)
        talk = _ESCAPES.sub("", shown.raw.decode().partition(MENU)[0])
        wide = [line for line in talk.splitlines() if len(line) > COLUMNS]
        assert all(" " not in line.strip() for line in wide), wide
        assert max(map(len, talk.splitlines())) > COLUMNS - 20
        assert _COLOUR.search(shown.raw)
        assert shown.text.count("\n") < ROWS, "it fits a screen"
        Person(shown=shown).chooses(MENU, "Cancel")
        assert shown.end() == 5
        assert CANCELLED in shown.words
    assert tree_hash(empty.prefix) == before
    assert results.read_bytes() == b""


@pytest.mark.main
def test_the_menu_obeys_ctrl_c_and_no_color_and_ignores_ctrl_d(sandbox: Sandbox, empty: Venv) -> None:
    before = tree_hash(empty.prefix)
    with _setup(sandbox, empty, "--no-color") as shown:
        shown.expect(MENU)
        shown.press(CTRL_D, CTRL_C)
        assert shown.end() == 130, shown.text
        assert "interrupted" in shown.words
        assert not _COLOUR.search(shown.raw)
    assert tree_hash(empty.prefix) == before


def test_the_menu_and_later_screens_fit_a_resized_terminal(sandbox: Sandbox, empty: Venv) -> None:
    with _setup(sandbox, empty) as shown:
        shown.expect(MENU)
        shown.expect("Cancel change nothing")
        person, start = Person(shown=shown), len(shown.raw)
        shown.resize(50)
        shown.expect_written(MENU, after=start)
        person.chooses(MENU, "Customize")
        person.chooses(TOPICS, "CPU level")
        person.chooses("Which CPUs should it run on?", "x86-64-v2")
        person.chooses(TOPICS, "Continue")
        person.reads("+simd.v2")
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5
        later = _ESCAPES.sub("", shown.raw[start:].decode())
        plan = later[later.rindex("Change ") : later.rindex("Undo ")]
        assert 40 < max(map(len, plan.splitlines())) <= 50, plan


def test_a_dead_end_is_explained_and_leads_back_to_the_answers(sandbox: Sandbox, empty: Venv) -> None:
    with _setup(sandbox, empty) as shown:
        person = Person(shown=shown)
        person.chooses(MENU, "Customize")
        person.chooses(TOPICS, "Parallel jobs")
        person.types("Parallel compile jobs, empty for one per CPU", "none")
        person.reads("expected a number of at least 1")
        person.types("Parallel compile jobs, empty for one per CPU", "back")
        person.chooses(TOPICS, "Version")
        person.types("Version, empty for the newest", "0.0.1")
        person.chooses(TOPICS, "Continue")
        person.reads("error: --version 0.0.1: ")
        person.chooses(TOPICS, "Start over")
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5
        assert shown.words.count("Change ") == 1, "the plan was shown twice"


def test_recipes_are_offered_and_risks_accepted_only_by_name(sandbox: Sandbox) -> None:
    stock = _with_stock_pillow(sandbox)
    before = tree_hash(stock.prefix)
    with _setup(sandbox, stock) as shown:
        person = Person(shown=shown)
        person.chooses(MENU, "Customize")
        person.chooses(TOPICS, "Recipe")
        person.reads("Which recipe?")
        found = shown.expect("pillow-fast (recommended) the newest Pillow with SIMD kernels that compute")
        shown.expect("pillow-simd Pillow with SIMD kernels", after=found)
        shown.press(*person.keys("pillow-simd"), ENTER)
        person.chooses(TOPICS, "Continue")
        person.reads("risk downgrade (needs --allow downgrade): 12.1.1.post0 is older")
        shown.expect("2 critical advisories affect Pillow 12.1.1")
        assert re.search(r"brings back \d+ .*\(\d+ critical", shown.words)
        assert re.search(r"\.\.\. and \d+ more: --verbose", shown.words)
        person.chooses(MENU, "Proceed")
        person.reads("Accept the risk downgrade?")
        shown.press(ENTER)
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5
    assert tree_hash(stock.prefix) == before


@pytest.mark.slow
def test_work_can_be_interrupted_and_ends_with_changes_and_flags(sandbox: Sandbox, short_root: Path) -> None:
    stock = _with_stock_pillow(sandbox, short_root / "env")
    before = tree_hash(stock.prefix)
    with _setup(sandbox, stock, changes=FORK) as shown:
        person = _consenting(shown)
        person.reads("testing the build, ")
        shown.press(CTRL_C)
        assert shown.end() == 130, shown.text
        assert "interrupted; the environment is as it was before" in shown.words
    assert tree_hash(stock.prefix) == before
    with _setup(sandbox, stock, changes=FORK) as shown:
        person = _consenting(shown)
        assert shown.end() == 0, shown.text
        flags = f"--recipe pillow-simd --levels {LEVELS} --allow downgrade,vulnerable"
        assert f"fastinstall setup --yes --prefix {stock.prefix} {flags}".encode() in shown.raw
        ending = shown.text[shown.text.index("pillow 12.1.1+simd.v2.v3 is in place") :]
        assert_screen("ending", settled(ending, short_root))
    assert stock.run("-c", "import PIL; assert '.post' in PIL.__version__, PIL.__version__").exit_code == 0


def test_a_frozen_conda_environment_is_refused_before_questions(sandbox: Sandbox, empty: Venv) -> None:
    (empty.prefix / "conda-meta").mkdir()
    (empty.prefix / "conda-meta" / "history").touch()
    (empty.prefix / "conda-meta" / "frozen").touch()
    before = tree_hash(empty.prefix)
    with _setup(sandbox, empty) as shown:
        assert shown.end() == 5
        assert "Environment ./env (conda)" in shown.words
        assert "is frozen" in shown.words
        assert MENU not in shown.words
    assert tree_hash(empty.prefix) == before


@pytest.mark.usefixtures("empty")
def test_if_the_active_environment_is_frozen_another_is_offered(sandbox: Sandbox) -> None:
    frozen = sandbox.venv(running(), name="frozen", pip=False)
    (frozen.prefix / "conda-meta").mkdir()
    for name in ("history", "frozen"):
        (frozen.prefix / "conda-meta" / name).touch()
    active = {"CONDA_PREFIX": str(frozen.prefix)}
    with terminal("setup", variables=sandbox.variables(active), directory=sandbox.root) as shown:
        person = Person(shown=shown)
        person.reads("is frozen")
        person.chooses("Which environment gets the fast Pillow?", "./env")
        assert "> ./frozen" not in shown.text
        person.reads("Environment ./env")
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5


def test_in_lines_what_ends_a_question_begins_a_line_of_its_own(sandbox: Sandbox, empty: Venv) -> None:
    for key, words in ((CTRL_C, "interrupted"), (CTRL_D, "interrupted")):
        with _setup(sandbox, empty, changes={"TERM": "dumb"}) as shown:
            shown.expect("Enter for 1)")
            shown.press(key)
            assert shown.end() == 130
            assert any(row.startswith(words) for row in shown.text.splitlines()), shown.text


def test_where_no_environment_is_active_one_can_be_made_or_named(sandbox: Sandbox) -> None:
    with terminal("setup", variables=sandbox.variables(), directory=sandbox.root) as shown:
        person = Person(shown=shown)
        person.chooses(WHERE, "Other")
        person.types("Directory of an environment, or of a new one", str(sandbox.root / "home"))
        person.reads("is not a Python environment: it has no bin/python")
        person.types("Directory of an environment, or of a new one", "back")
        person.chooses(WHERE, "./fast-env")
        person.reads("Environment ./fast-env")
        person.reads("Change make the virtual environment with")
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5
    assert not (sandbox.root / "fast-env").exists()


def test_with_two_active_environments_the_wizard_asks_which(sandbox: Sandbox, empty: Venv) -> None:
    other = sandbox.venv(running(), name="other", pip=False)
    active = {"VIRTUAL_ENV": str(empty.prefix), "CONDA_PREFIX": str(other.prefix)}
    with terminal("setup", variables=sandbox.variables(active), directory=sandbox.root) as shown:
        person = Person(shown=shown)
        person.chooses("Two environments are active. Which one gets the fast Pillow?", "./other")
        person.reads("Environment ./other")
        person.chooses(MENU, "Customize")
        person.chooses(TOPICS, "Environment")
        person.chooses("Two environments are active. Which one gets the fast Pillow?", "Cancel")
        assert shown.end() == 5


def test_in_ci_nothing_is_asked_and_the_command_is_shown(sandbox: Sandbox, empty: Venv) -> None:
    # Python prints its imports, which shows that the library for questions is not loaded. The terminal is so wide that
    # it cannot break the printed command.
    variables = sandbox.variables({"CI": "true", "PYTHONPROFILEIMPORTTIME": "1"})
    command = ("setup", "--prefix", empty.prefix)
    with terminal(*command, variables=variables, directory=sandbox.root, columns=400) as shown:
        assert shown.end() == 5
        assert "Not a terminal" in shown.words
        assert f"hint: fastinstall setup --yes --prefix {empty.prefix}" in shown.words
        assert b"fastinstall.cli.main" in shown.raw
        assert b"questionary" not in shown.raw


def _setup(
    sandbox: Sandbox, venv: Venv, *flags: str, changes: Variables | None = None, stdout: Path | None = None
) -> AbstractContextManager[Terminal]:
    """Start the wizard for an environment."""
    words: tuple[str | Path, ...] = ("setup", *flags, "--prefix", venv.prefix)
    return terminal(*words, variables=sandbox.variables(changes), directory=sandbox.root, stdout=stdout)


def _consenting(shown: Terminal) -> Person:
    """Accept the plan and its risks; return the person at the terminal."""
    person = Person(shown=shown)
    person.chooses(MENU, "Proceed")
    for risk in ("downgrade", "vulnerable"):
        person.reads(f"Accept the risk {risk}?")
        shown.press("y")
    return person


def _with_stock_pillow(sandbox: Sandbox, prefix: Path | str = "env") -> Venv:
    venv = sandbox.venv(running(), name=prefix, pip=False)
    installed = venv.uv("install", "pillow")
    assert installed.exit_code == 0, installed.text
    return venv
