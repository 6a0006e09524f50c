"""Completion offers exactly what the parser accepts."""

import argparse
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS

from fastinstall.cli.commands.completion import Shell, add_completers
from fastinstall.cli.help import verb_of
from fastinstall.cli.main import main
from fastinstall.cli.options import read_request
from fastinstall.cli.parser import build_parser, parse, verbs_of
from fastinstall.core.errors import ExitCode

SHELLS = tuple(Shell)
Completer = Callable[..., Mapping[str, str]]
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


def _completer(verb: str, name: str) -> Completer | None:
    return getattr(ACTIONS[verb, name], "completer", None)


def _offered(completer: Completer | None, typed: str = "") -> Iterable[str]:
    assert completer is not None
    action, given = argparse.Action([], "unused"), argparse.Namespace()
    return completer(prefix=typed, action=action, parser=argparse.ArgumentParser(), parsed_args=given)


OFFERED = [
    (verb, name, tuple(_offered(completer)))
    for verb, name in ACTIONS
    if (completer := _completer(verb, name)) is not None and name[0] == "-" and name != "--prefix"
]


def test_zsh_finds_it_on_fpath_by_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("#compdef fastinstall\n")


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


def test_of_several_words_none_is_offered_twice() -> None:
    offered = list(_offered(_completer("setup", "--allow"), "downgrade,vul"))
    assert "downgrade,vulnerable" in offered
    assert "downgrade,downgrade" not in offered


def test_known_environments_and_files_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert list(_offered(completer, "below/x")) == []


def test_each_verb_offers_its_own_names() -> None:
    assert "pillow-fast" in _offered(_completer("recipes", "names"))
    assert "downloads" in _offered(_completer("cache", "names"))


def test_a_verb_offers_the_risks_that_it_takes() -> None:
    assert list(_offered(_completer("rollback", "--allow"))) == ["force-remove"]
    assert list(_offered(_completer("doctor", "--allow"))) == ["downgrade"]
    assert "vulnerable" in _offered(_completer("setup", "--allow"))
