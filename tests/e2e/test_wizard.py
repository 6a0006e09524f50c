"""The wizard, as a person at a terminal of 80 columns meets it."""

import re
from pathlib import Path

import pytest
from interpreters import running
from sandbox import Sandbox, Variables, Venv, tree_hash
from terminal import COLUMNS, CTRL_C, CTRL_D, DOWN, ENTER, Terminal, terminal

MENU = "What now?"
PROCEED, CUSTOMIZE, CANCEL = (), (DOWN,), (DOWN, DOWN)
CANCELLED = "cancelled; nothing was changed"
LEVELS = "x86-64-v2,x86-64-v3"
FORK = {"FASTINSTALL_RECIPE": "pillow-simd", "FASTINSTALL_LEVELS": LEVELS}
"""Settings that ask for Pillow-SIMD as published, for the usual levels, so that its wheel is one that others build."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m")


@pytest.fixture
def empty(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


def test_the_facts_and_the_plan_are_shown_and_cancel_changes_nothing(sandbox: Sandbox, empty: Venv) -> None:
    before = tree_hash(empty.prefix)
    with terminal("setup", "--prefix", empty.prefix, variables=sandbox.variables(), directory=sandbox.root) as shown:
        facts = shown.expect(f"environment {empty.prefix} (venv)")
        for row in ("python cpython", "cpu ", "level x86-64-", "compiler "):
            assert shown.words.index(row) < shown.expect("for x86-64-", after=facts)
        shown.expect(MENU)
        shown.expect("Proceed")
        assert {"Proceed", "Customize", "Cancel"} <= set(shown.words.split())
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5
        assert CANCELLED in shown.words
    assert tree_hash(empty.prefix) == before


def test_long_lines_are_broken_between_words_and_before_the_edge(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty) as shown:
        talk = _ESCAPES.sub("", shown.raw.decode().partition(MENU)[0])
        wide = [line for line in talk.splitlines() if len(line) > COLUMNS]
        assert all(" " not in line.strip() for line in wide), wide
        assert max(map(len, talk.splitlines())) > COLUMNS - 20
        shown.press(CTRL_C)
        shown.end()


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D + CTRL_C], ids=["ctrl-c", "ctrl-d is ignored, then ctrl-c"])
def test_ctrl_c_at_the_menu_changes_nothing(sandbox: Sandbox, empty: Venv, key: str) -> None:
    before = tree_hash(empty.prefix)
    with _asked(sandbox, empty) as shown:
        shown.press(key)
        assert shown.end() == 130
        assert "interrupted; the environment is as it was before" in shown.words
    assert tree_hash(empty.prefix) == before


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["ctrl-c", "ctrl-d"])
def test_leaving_a_question_for_text_is_an_interruption_too(sandbox: Sandbox, empty: Venv, key: str) -> None:
    with _asked(sandbox, empty) as shown:
        shown.press(*CUSTOMIZE, ENTER)
        shown.expect("Which recipe?")
        shown.press(ENTER)
        shown.expect("Version of the source")
        shown.press(key)
        assert shown.end() == 130
        assert "interrupted" in shown.words


def test_customize_shows_the_plan_for_the_other_wishes(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty) as shown:
        shown.press(*CUSTOMIZE, ENTER)
        after = _customize(shown, level="x86-64-v2", guard="n")
        shown.expect("for x86-64-v2 into", after=after)
        after = shown.expect("not needed: install-guard (--no-guard)", after=after)
        shown.expect(MENU, after=after)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5


def test_customize_shows_the_recipes_side_by_side_and_recommends_the_merged_one(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty) as shown:
        shown.press(*CUSTOMIZE, ENTER)
        after = shown.expect("pillow-merged (recommended): the newest Pillow with the SIMD kernels")
        after = shown.expect("13.0.0, no known advisories SIMD kernels on today's Pillow", after=after)
        after = shown.expect("pillow-simd: Pillow with SIMD kernels", after=after)
        after = shown.expect("SIMD kernels of an older Pillow", after=after)
        assert re.search(r"12\.1\.1\.post0, \d+ known advisories \(2 critical", shown.words)
        shown.expect("Which recipe?", after=after)
        shown.press(CTRL_C)
        assert shown.end() == 130


def test_customizing_into_a_dead_end_is_explained_and_leads_back(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty) as shown:
        shown.press(*CUSTOMIZE, ENTER)
        after = _customize(shown, version="0.0.1")
        after = shown.expect("--version 0.0.1: ", after=after)
        after = shown.expect("Customize again?", after=after)
        shown.press("n")
        shown.expect(MENU, after=after)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5


def test_a_risk_is_accepted_by_name_or_not_at_all(sandbox: Sandbox) -> None:
    stock = _with_stock_pillow(sandbox)
    before = tree_hash(stock.prefix)
    with _asked(sandbox, stock, FORK) as shown:
        assert "risk downgrade (needs --allow downgrade)" in shown.words
        assert "risk vulnerable (needs --allow vulnerable)" in shown.words
        assert re.search(r"\d+ known advisories come back \(\d+ critical, \d+ high", shown.words)
        assert re.search(r"\.\.\. and \d+ more: --verbose or --json", shown.words)
        shown.press(*PROCEED, ENTER)
        after = shown.expect("Accept the risk downgrade?")
        shown.press(ENTER)
        shown.expect(MENU, after=after)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5
        assert shown.words.count("1. ") == 1, "the plan was shown twice"
    assert tree_hash(stock.prefix) == before


@pytest.mark.slow
def test_proceed_carries_the_plan_out_and_ends_with_the_flags_that_ask_for_the_same(sandbox: Sandbox) -> None:
    stock = _with_stock_pillow(sandbox)
    with _asked(sandbox, stock, FORK) as shown:
        shown.press(*PROCEED, ENTER)
        after = shown.expect("Accept the risk downgrade?")
        shown.press("y")
        shown.expect("Accept the risk vulnerable?", after=after)
        shown.press("y")
        assert shown.end() == 0, shown.text
        flags = f"--recipe pillow-simd --levels {LEVELS} --allow downgrade,vulnerable"
        assert f"fastinstall setup --yes --prefix {stock.prefix} {flags}".encode() in shown.raw
        assert "geometric mean" in shown.words
        assert f"undo: fastinstall rollback --prefix {stock.prefix}".encode() in shown.raw
    assert stock.run("-c", "import PIL; assert '.post' in PIL.__version__, PIL.__version__").exit_code == 0


def test_a_frozen_conda_environment_is_declined_before_any_question(sandbox: Sandbox, empty: Venv) -> None:
    (empty.prefix / "conda-meta").mkdir()
    (empty.prefix / "conda-meta" / "history").touch()
    (empty.prefix / "conda-meta" / "frozen").touch()
    before = tree_hash(empty.prefix)
    with terminal("setup", "--prefix", empty.prefix, variables=sandbox.variables(), directory=sandbox.root) as shown:
        assert shown.end() == 5
        assert f"environment {empty.prefix} (conda)" in shown.words
        assert "is frozen" in shown.words
        assert MENU not in shown.words
    assert tree_hash(empty.prefix) == before


def test_where_no_environment_is_active_it_asks_for_one(sandbox: Sandbox) -> None:
    with terminal("setup", variables=sandbox.variables(), directory=sandbox.root) as shown:
        shown.expect("No environment is active. Where should the fast stack go?")
        shown.press(ENTER)
        shown.expect("Directory of the environment to make:")
        shown.press(ENTER)
        shown.expect(f"1. make the virtual environment {sandbox.root}/fast-env")
        shown.expect(MENU)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5
    assert not (sandbox.root / "fast-env").exists()


def test_where_two_environments_are_active_it_asks_which(sandbox: Sandbox, empty: Venv) -> None:
    other = sandbox.venv(running(), name="other", pip=False)
    active = {"VIRTUAL_ENV": str(empty.prefix), "CONDA_PREFIX": str(other.prefix)}
    with terminal("setup", variables=sandbox.variables(active), directory=sandbox.root) as shown:
        shown.expect("Two environments are active. Which one is meant?")
        shown.press(DOWN, ENTER)
        shown.expect(f"environment {other.prefix} (venv)")
        shown.expect(MENU)
        shown.press(CTRL_C)
        assert shown.end() == 130


def test_questions_go_to_the_terminal_where_results_go_to_a_file(sandbox: Sandbox, empty: Venv) -> None:
    results = sandbox.root / "results"
    with terminal(
        "setup", "--prefix", empty.prefix, variables=sandbox.variables(), directory=sandbox.root, stdout=results
    ) as shown:
        shown.expect(MENU)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5
    assert results.read_bytes() == b""


def test_a_terminal_that_knows_only_lines_gets_lines(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty, {"TERM": "dumb"}) as shown:
        assert "1) Proceed 2) Customize 3) Cancel" in shown.words
        shown.press("9", ENTER)
        shown.expect("Answer with a number from 1 to 3.")
        shown.press("3", ENTER)
        assert shown.end() == 5
        assert CANCELLED in shown.words
        assert b"\x1b" not in shown.raw


def test_ctrl_c_at_a_question_in_lines_changes_nothing(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty, {"TERM": "dumb"}) as shown:
        shown.press(CTRL_C)
        assert shown.end() == 130


@pytest.mark.parametrize("way", ["--no-color", "NO_COLOR"])
def test_without_colour_not_even_the_questions_have_any(sandbox: Sandbox, empty: Venv, way: str) -> None:
    flags, changes = ((way,), {}) if way.startswith("--") else ((), {way: "1"})
    with terminal(
        "setup", *flags, "--prefix", empty.prefix, variables=sandbox.variables(changes), directory=sandbox.root
    ) as shown:
        shown.expect(MENU)
        shown.press(*CANCEL, ENTER)
        assert shown.end() == 5
        assert not _COLOUR.search(shown.raw)


def test_with_colour_the_plan_and_the_questions_have_some(sandbox: Sandbox, empty: Venv) -> None:
    with _asked(sandbox, empty) as shown:
        shown.press(*CANCEL, ENTER)
        shown.end()
        assert _COLOUR.search(shown.raw)


def test_in_continuous_integration_nothing_is_asked_and_the_command_is_given(sandbox: Sandbox, empty: Venv) -> None:
    # The imports are told, so that it shows that the library that asks is not even loaded.
    changes = {"CI": "true", "PYTHONPROFILEIMPORTTIME": "1"}
    with terminal(
        "setup", "--prefix", empty.prefix, variables=sandbox.variables(changes), directory=sandbox.root
    ) as shown:
        assert shown.end() == 5
        assert "nobody can be asked here, and --yes was not given" in shown.words
        assert f"hint: fastinstall setup --yes --prefix {empty.prefix}" in shown.words
        assert b"fastinstall.cli.main" in shown.raw
        assert b"questionary" not in shown.raw


def _asked(sandbox: Sandbox, venv: Venv, changes: Variables | None = None) -> "_Asked":
    return _Asked(sandbox, venv.prefix, changes)


class _Asked:
    """The wizard, run until it shows its menu."""

    def __init__(self, sandbox: Sandbox, prefix: Path, changes: Variables | None) -> None:
        variables = sandbox.variables(changes)
        self._terminal = terminal("setup", "--prefix", prefix, variables=variables, directory=sandbox.root)

    def __enter__(self) -> Terminal:
        shown = self._terminal.__enter__()
        shown.expect(MENU)
        return shown

    def __exit__(self, *what: object) -> None:
        self._terminal.__exit__(None, None, None)


def _customize(shown: Terminal, *, version: str = "", level: str = "auto", guard: str = "y") -> int:
    """Answer the questions of Customize; where the last one ends is returned."""
    levels = ["auto", "x86-64-v4", "x86-64-v3", "x86-64-v2"]
    shown.expect("Which recipe?")
    shown.press(ENTER)
    shown.expect("Version of the source")
    shown.press(version, ENTER)
    shown.expect("Which CPU level?")
    shown.press(*[DOWN] * levels.index(level), ENTER)
    shown.expect("Which libraries?")
    shown.press(ENTER)
    after = shown.expect("Install the start-up guard, which notices a swap?")
    shown.press(guard)
    return after


def _with_stock_pillow(sandbox: Sandbox) -> Venv:
    venv = sandbox.venv(running(), pip=False)
    installed = venv.uv("install", "pillow")
    assert installed.exit_code == 0, installed.text
    return venv
