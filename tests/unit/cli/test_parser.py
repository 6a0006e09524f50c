from argparse import Namespace
from pathlib import Path

import pytest

from fastinstall.cli.common import target_of
from fastinstall.cli.parser import build_parser, parse
from fastinstall.core.errors import DocumentError, UsageError

VERBS = (
    "setup",
    "plan",
    "apply",
    "doctor",
    "rollback",
    "guard",
    "build",
    "bench",
    "inspect",
    "recipes",
    "cache",
    "completion",
)


def parsed(*words: str, variables: dict[str, str] | None = None, toml: Path | None = None) -> Namespace:
    return parse(words, variables or {}, [toml] if toml else [])[0]


def toml(directory: Path, text: str) -> Path:
    path = directory / "fastinstall.toml"
    path.write_text(text)
    return path


def test_the_verbs_are_those_of_the_contract() -> None:
    help_text = build_parser().format_help()
    assert all(f"  {verb} " in help_text for verb in VERBS)


def test_no_verb_is_no_error_of_the_parser() -> None:
    assert parsed().verb is None


@pytest.mark.parametrize(
    "words",
    [
        ("setup", "--yess"),
        ("setup", "--pre", "DIR"),
        ("install",),
        ("apply",),
        ("guard", "start"),
        ("doctor", "--fail-on", "sometimes"),
        ("build",),
    ],
    ids=" ".join,
)
def test_an_invalid_command_line_is_an_error_with_a_hint(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*words)
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("--help")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("setpu", "unknown verb 'setpu': did you mean setup?", "fastinstall setup --help"),
        ("plan --format dockerfile", "--format 'dockerfile': choose one of text, json", "fastinstall plan --help"),
        ("frobnicate", f"unknown verb 'frobnicate': choose one of {', '.join(VERBS)}", "fastinstall --help"),
        (
            "setup --lelve v3",
            "fastinstall setup has no flag --lelve: did you mean --level?",
            "fastinstall setup --help",
        ),
        (
            "setup --levle=v3",
            "fastinstall setup has no flag --levle: did you mean --level?",
            "fastinstall setup --help",
        ),
        ("doctor --banana", "fastinstall doctor has no flag --banana", "fastinstall doctor --help"),
        ("setup pillow", "fastinstall setup takes no argument 'pillow'", "fastinstall setup --help"),
        ("guard instal", "unknown action 'instal': did you mean install?", "fastinstall guard --help"),
        ("setup --level", "--level: expected one argument", "fastinstall setup --help"),
        (
            "--json doctor",
            "--json must come after the verb: did you mean fastinstall doctor --json?",
            "fastinstall doctor --help",
        ),
        ("--versoin", "fastinstall has no flag --versoin: did you mean --version?", "fastinstall --help"),
    ],
)
def test_a_typo_is_named_with_its_verb_and_a_likely_correction(words: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*words.split())
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_flags_that_are_no_wishes_have_variables_and_keys_too(tmp_path: Path) -> None:
    file = toml(tmp_path, 'fail_on = "never"\nquiet = true')
    assert parsed("doctor", toml=file).fail_on == "never"
    assert parsed("doctor", toml=file).quiet
    variables = {"FASTINSTALL_FAIL_ON": "warning", "FASTINSTALL_QUIET": "0"}
    found = parsed("doctor", variables=variables, toml=file)
    assert (found.fail_on, found.quiet) == ("warning", False)
    assert parsed("doctor", "--fail-on", "error", variables=variables, toml=file).fail_on == "error"


def test_consent_can_be_given_by_a_variable() -> None:
    assert parsed("setup", variables={"FASTINSTALL_YES": "1"}).yes
    assert not parsed("setup", variables={"FASTINSTALL_YES": "0"}).yes


def test_a_required_flag_may_come_from_a_variable() -> None:
    assert parsed("build", variables={"FASTINSTALL_OUTPUT": "wheels"}).output == "wheels"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("FASTINSTALL_FAIL_ON", "sometimes", "'sometimes' is not one of error, warning, never"),
        ("FASTINSTALL_JSON", "maybe", "expected true or false, found 'maybe'"),
    ],
)
def test_a_bad_variable_is_named(variable: str, value: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed("doctor", variables={variable: value})
    assert caught.value.message == f"{variable}: {problem}"


def test_a_bad_key_is_named_with_its_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "fail_on = 3")
    with pytest.raises(DocumentError) as caught:
        parsed("doctor", toml=file)
    assert caught.value.message.startswith(f"{file}: fail_on: 3 ")


@pytest.mark.parametrize(
    ("words", "prefix", "new_env"),
    [
        (("setup",), "/usual", None),
        (("setup", "--new-env", "env"), None, "env"),
        (("setup", "--new-env=env"), None, "env"),
        (("setup", "--prefix", "/other"), "/other", None),
    ],
)
def test_a_named_target_overrules_the_usual_one(
    words: tuple[str, ...], prefix: str | None, new_env: str | None
) -> None:
    found = parsed(*words, variables={"FASTINSTALL_PREFIX": "/usual"})
    target_of(found)
    assert (found.prefix, found.new_env) == (prefix, new_env)


def test_two_targets_on_one_command_line_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be combined"):
        target_of(parsed("setup", "--new-env", "a", "--prefix", "b"))


@pytest.mark.parametrize("words", [("--help",), ("setup", "--help"), ("--version",)], ids=" ".join)
def test_help_needs_no_settings(words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = toml(tmp_path, "speed = 11") if "--help" in words else tmp_path / "absent"
    with pytest.raises(SystemExit) as caught:
        parsed(*words, toml=file)
    assert caught.value.code == 0
    assert "fastinstall" in capsys.readouterr().out
