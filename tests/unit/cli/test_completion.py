"""What the completion scripts offer is what the parser takes."""

import json
import re

import jsonschema
import pytest
from published_schemas import SCHEMAS

from fastinstall.cli.commands.completion import Shell
from fastinstall.cli.completion_scripts import completion_script
from fastinstall.cli.completion_values import CompletionKind, Value, Verb, verbs, vocabulary
from fastinstall.cli.help import groups_of
from fastinstall.cli.main import main
from fastinstall.cli.options import read_request
from fastinstall.cli.parser import VERBS, build_parser, parse, verbs_of
from fastinstall.core.errors import ExitCode
from fastinstall.core.surroundings import recipes_directory
from fastinstall.model.recipe import Recipe
from fastinstall.observe.observation import load_recipes

SHELLS = tuple(Shell)
PATHS = (CompletionKind.FILES, CompletionKind.DIRECTORIES, CompletionKind.ENVIRONMENTS)


def _recipes() -> tuple[Recipe, ...]:
    return tuple(load_recipes((recipes_directory(),)).values())


KNOWN = {verb.name: verb for verb in verbs(vocabulary(_recipes()))}
OFFERED = [
    (verb.name, flag.names[-1], tuple(flag.value.words))
    for verb in KNOWN.values()
    for flag in verb.flags
    if flag.value and flag.value.words
]
NEEDED = {"apply": ("plan.json",), "build": ("-o", "wheels"), "guard": ("status",), "recipes": ("list",)}


def _flag(verb: str, name: str) -> Value | None:
    return next(flag.value for flag in KNOWN[verb].flags if name in flag.names)


def test_zsh_finds_it_on_fpath_by_its_first_line() -> None:
    assert completion_script("zsh", _recipes()).startswith("#compdef fastinstall\n")


def test_it_knows_the_verbs_in_their_order() -> None:
    assert list(KNOWN) == list(VERBS)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_every_verb_and_every_flag(shell: str) -> None:
    script = completion_script(shell, _recipes())
    flags = {flag.names[-1] for verb in KNOWN.values() for flag in verb.flags}
    spelled = {flag.replace("--", "-l ", 1) if shell == "fish" else flag for flag in flags}
    assert [word for word in (*VERBS, *spelled) if word not in script] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_as_json_it_is_the_same_by_its_schema(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == main(["completion", shell, "--json"]) == ExitCode.OK
    script, _, document = capsys.readouterr().out.rpartition('{\n  "schema"')
    told = json.loads(f'{{"schema"{document}')
    jsonschema.validate(told, SCHEMAS["completion"]())
    assert (told["shell"], told["script"]) == (shell, script)


@pytest.mark.parametrize("shell", SHELLS)
def test_no_script_calls_the_program_itself(shell: str) -> None:
    script = completion_script(shell, _recipes())
    assert re.findall(r"(?:\$\(|<\(|`|\|)\s*(?:command\s+)?(?:fastinstall|python)", script) == []


@pytest.mark.parametrize(("verb", "flag", "words"), OFFERED)
def test_a_word_that_is_offered_is_taken(verb: str, flag: str, words: tuple[str, ...]) -> None:
    for word in words:
        arguments, sources = parse((verb, *NEEDED.get(verb, ()), flag, word), {}, ())
        if hasattr(arguments, "wish_recipe"):
            read_request(arguments, sources)


@pytest.mark.parametrize(
    ("verb", "flag", "kind"),
    [
        ("setup", "--prefix", CompletionKind.ENVIRONMENTS),
        ("setup", "--new-env", CompletionKind.DIRECTORIES),
        ("setup", "--python", CompletionKind.FILES),
        ("setup", "--recipe", CompletionKind.WORDS),
        ("setup", "--allow", CompletionKind.LIST),
        ("setup", "--jobs", CompletionKind.FREE),
        ("plan", "-o", CompletionKind.FILES),
        ("build", "-o", CompletionKind.DIRECTORIES),
        ("bench", "--step", CompletionKind.FILES),
        ("doctor", "--junit", CompletionKind.FILES),
    ],
)
def test_what_stands_behind_a_flag(verb: str, flag: str, kind: CompletionKind) -> None:
    value = _flag(verb, flag)
    assert value is not None
    assert value.kind is kind


def test_a_switch_takes_nothing() -> None:
    assert _flag("setup", "--yes") is None


def test_every_name_of_a_path_is_known_as_one() -> None:
    actions = [action for verb in verbs_of(build_parser()) for _, found in groups_of(verb) for action in found]
    named = {str(action.metavar) for action in actions if re.search(r"DIR|FILE|EXE", str(action.metavar))}
    values = [flag.value for verb in KNOWN.values() for flag in verb.flags if flag.value and flag.value.kind in PATHS]
    arguments = [verb.first for verb in KNOWN.values() if verb.first and verb.first.kind in PATHS]
    elsewhere = {"FILE", "NAME|FILE"}  # behind the first word of guard and recipes
    assert named - elsewhere == {value.name for value in (*values, *arguments)} - elsewhere


def test_every_vocabulary_is_of_an_argument() -> None:
    dests = {action.dest for verb in verbs_of(build_parser()) for action in verb._actions}
    assert set(vocabulary(_recipes())) <= dests


@pytest.mark.parametrize(
    ("verb", "first", "following"),
    [
        ("doctor", "swapped", {"": CompletionKind.WORDS}),
        ("guard", "status", {"check": CompletionKind.FILES}),
        ("recipes", "show", {"show": CompletionKind.WORDS, "check": CompletionKind.FILES}),
        ("completion", "zsh", {}),
    ],
)
def test_what_stands_where_no_flag_does(verb: str, first: str, following: dict[str, CompletionKind]) -> None:
    known: Verb = KNOWN[verb]
    assert known.first is not None
    assert first in known.first.words
    assert {word: value.kind for word, value in known.following.items()} == following


def test_a_verb_offers_the_risks_that_it_takes() -> None:
    allowed = {verb: list(value.words) for verb in KNOWN if (value := _risks(verb))}
    assert allowed["rollback"] == ["force-remove"]
    assert allowed["doctor"] == ["downgrade"]
    assert "vulnerable" in allowed["setup"]


def _risks(verb: str) -> Value | None:
    return next((flag.value for flag in KNOWN[verb].flags if flag.names == ("--allow",)), None)
