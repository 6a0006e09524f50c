"""What is offered at TAB is what the parser takes."""

import argparse
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest
from argcomplete.completers import BaseCompleter, DirectoriesCompleter, FilesCompleter
from published_schemas import SCHEMAS

from fastinstall.cli.commands.completion import Shell
from fastinstall.cli.completion import WordsCompleter, add_completers, completion_script
from fastinstall.cli.help import verb_of
from fastinstall.cli.main import main
from fastinstall.cli.options import read_request
from fastinstall.cli.parser import build_parser, parse, verbs_of
from fastinstall.core.errors import ExitCode

SHELLS = tuple(Shell)
NEEDED = {"apply": ("plan.json",), "build": ("-o", "wheels"), "guard": ("status",), "recipes": ("list",)}


def _parser(variables: dict[str, str] | None = None) -> argparse.ArgumentParser:
    parser = build_parser()
    add_completers(parser, {"HOME": "/nonexistent", **(variables or {})})
    return parser


ACTIONS = {
    (verb_of(verb), (action.option_strings or [action.dest])[-1]): action
    for verb in verbs_of(_parser())
    for action in verb._actions
}


def _completer(verb: str, name: str) -> BaseCompleter | WordsCompleter | None:
    return getattr(ACTIONS[verb, name], "completer", None)


def _offered(completer: BaseCompleter | WordsCompleter | None, typed: str = "") -> Iterable[str]:
    assert completer is not None
    action, given = argparse.Action([], "unused"), argparse.Namespace()
    return completer(prefix=typed, action=action, parser=argparse.ArgumentParser(), parsed_args=given)


OFFERED = [
    (verb, name, tuple(_offered(completer)))
    for verb, name in ACTIONS
    if isinstance(completer := _completer(verb, name), WordsCompleter) and completer.besides is None and name[0] == "-"
]


def test_zsh_finds_it_on_fpath_by_its_first_line() -> None:
    assert completion_script("zsh").startswith("#compdef fastinstall\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_as_json_it_is_the_same_by_its_schema(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == main(["completion", shell, "--json"]) == ExitCode.OK
    script, _, document = capsys.readouterr().out.rpartition('{\n  "schema"')
    told = json.loads(f'{{"schema"{document}')
    jsonschema.validate(told, SCHEMAS["completion"]())
    assert told["shell"] == shell
    assert told["script"].strip() == script.strip()


@pytest.mark.parametrize(("verb", "flag", "words"), OFFERED, ids=[f"{verb} {flag}" for verb, flag, _ in OFFERED])
def test_a_word_that_is_offered_is_taken(verb: str, flag: str, words: tuple[str, ...]) -> None:
    assert words
    for word in words:
        arguments, sources = parse((verb, *NEEDED.get(verb, ()), flag, word), {}, ())
        if hasattr(arguments, "request_recipe"):
            read_request(arguments, sources)


@pytest.mark.parametrize(
    ("verb", "flag", "kind"),
    [
        ("setup", "--prefix", WordsCompleter),
        ("setup", "--new-env", DirectoriesCompleter),
        ("setup", "--python", FilesCompleter),
        ("setup", "--recipe", WordsCompleter),
        ("setup", "--jobs", type(None)),
        ("setup", "--yes", type(None)),
        ("plan", "--output", FilesCompleter),
        ("build", "--output", DirectoriesCompleter),
        ("bench", "--loader", FilesCompleter),
        ("doctor", "checks", WordsCompleter),
        ("guard", "files", FilesCompleter),
        ("recipes", "names", WordsCompleter),
        ("cache", "names", WordsCompleter),
    ],
)
def test_what_stands_behind_a_flag(verb: str, flag: str, kind: type) -> None:
    assert type(_completer(verb, flag)) is kind


def test_every_name_of_a_path_is_known_as_one() -> None:
    named = [name for name, action in ACTIONS.items() if re.search(r"DIR|FILE|EXE", str(action.metavar))]
    completers = {name: _completer(*name) for name in named}
    of_paths = {name: getattr(found, "besides", found) for name, found in completers.items()}
    assert [name for name in named if not isinstance(of_paths[name], FilesCompleter | DirectoriesCompleter)] == []


def test_of_several_words_none_is_offered_twice() -> None:
    offered = list(_offered(_completer("setup", "--allow"), "downgrade,vul"))
    assert "downgrade,vulnerable" in offered
    assert "downgrade,downgrade" not in offered


def test_environments_that_are_known_are_offered_with_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, state = tmp_path / "known", tmp_path / "state/fastinstall"
    for directory in (known, state, tmp_path / "here/below"):
        directory.mkdir(parents=True)
    (known / "pyvenv.cfg").touch()
    (state / "environments.txt").write_text(f"{known}\n{tmp_path}/gone\n")
    monkeypatch.chdir(tmp_path / "here")
    parser = _parser({"HOME": str(tmp_path), "XDG_STATE_HOME": str(state.parent)})
    (setup,) = [verb for verb in verbs_of(parser) if verb_of(verb) == "setup"]
    (completer,) = [getattr(action, "completer", None) for action in setup._actions if action.dest == "prefix"]
    assert list(_offered(completer)) == [str(known), f"below{os.sep}"]


def test_each_verb_offers_its_own_names() -> None:
    assert "pillow-fast" in _offered(_completer("recipes", "names"))
    assert "downloads" in _offered(_completer("cache", "names"))


def test_a_verb_offers_the_risks_that_it_takes() -> None:
    assert list(_offered(_completer("rollback", "--allow"))) == ["force-remove"]
    assert list(_offered(_completer("doctor", "--allow"))) == ["downgrade"]
    assert "vulnerable" in _offered(_completer("setup", "--allow"))
