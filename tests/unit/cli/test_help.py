"""`--help` fits a screen, `--help-all` lists everything, and the examples in both can be typed."""

import shlex

import pytest

from fastinstall.cli.help import EXAMPLES, SCREENS, format_argument, groups_of, screen
from fastinstall.cli.parser import VERBS, build_parser, parse, verbs_of
from fastinstall.doctor.registry import check_names

COLUMNS, LINES = 80, 24
PROMPT = 1
PARSERS = {verb.prog.removeprefix("fastinstall").strip(): verb for verb in (build_parser(), *verbs_of(build_parser()))}
COMMANDS = [command for examples in EXAMPLES.values() for command in examples]


@pytest.mark.parametrize("verb", PARSERS)
def test_help_and_the_prompt_after_it_fit_a_screen(verb: str) -> None:
    lines = PARSERS[verb].format_help().splitlines()
    assert len(lines) + PROMPT <= LINES
    assert [line for line in lines if len(line) >= COLUMNS] == []


@pytest.mark.parametrize("verb", PARSERS)
def test_help_is_the_same_on_every_terminal(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    narrow = PARSERS[verb].format_help()
    monkeypatch.setenv("COLUMNS", "200")
    assert PARSERS[verb].format_help() == narrow


def test_every_verb_has_a_line_and_examples() -> None:
    page = screen(build_parser())
    assert [verb for verb in VERBS if f"  {verb} " not in page] == []
    assert set(EXAMPLES) == {"", *VERBS}


@pytest.mark.parametrize("verb", VERBS)
def test_examples_stand_on_the_screen(verb: str) -> None:
    page = screen(PARSERS[verb])
    assert [text for example in EXAMPLES[verb].items() for text in example if text not in page] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_can_be_typed(command: str) -> None:
    program, *words = shlex.split(command.partition(" > ")[0])
    arguments, _ = parse(words, {}, ())
    assert program == "fastinstall"
    assert arguments.verb == words[0]
    assert set(getattr(arguments, "checks", ())) <= set(check_names())


@pytest.mark.parametrize("verb", VERBS)
def test_everything_tells_every_flag(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (verb, "--help-all")
    with pytest.raises(SystemExit) as caught:
        parse(words, {}, ())
    told = capsys.readouterr()
    flags = [flag for _, actions in groups_of(PARSERS[verb]) for action in actions for flag in action.option_strings]
    assert caught.value.code == 0
    assert told.err == ""
    assert [flag for flag in flags if flag not in told.out] == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_screen_that_leaves_something_out_says_so(verb: str) -> None:
    page = screen(PARSERS[verb])
    actions = [action for _, found in groups_of(PARSERS[verb]) for action in found]
    missing = [action for action in actions if action.help and format_argument(action) not in page]
    assert bool(missing) <= (f"fastinstall {verb} --help-all" in page)


@pytest.mark.parametrize("verb", SCREENS)
def test_what_a_screen_says_of_a_flag_is_of_one_that_there_is(verb: str) -> None:
    actions = [action for _, found in groups_of(PARSERS[verb]) for action in found]
    known = {action.option_strings[-1] if action.option_strings else action.dest for action in actions}
    assert set(SCREENS[verb]) - known == set()
