from pathlib import Path, PurePath

import pytest

from fastinstall.cli.options import REQUEST_OPTIONS, format_flags, read_request
from fastinstall.cli.parser import parse
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.model.request import LinkMode, Request, Risk


def request(*flags: str, variables: dict[str, str] | None = None, toml: Path | None = None) -> Request:
    arguments, sources = parse(["setup", *flags], variables or {}, [toml] if toml else [])
    return read_request(arguments, sources)


def toml(directory: Path, text: str) -> Path:
    path = directory / "fastinstall.toml"
    path.write_text(text)
    return path


def test_every_field_of_a_request_has_its_option() -> None:
    nobodys = {"avoid"}  # set after a failed proof, never by an option
    assert {option.field for option in REQUEST_OPTIONS} == set(Request.__dataclass_fields__) - nobodys


def test_nothing_given_is_the_default() -> None:
    assert request() == Request()


def test_flag_beats_variable_beats_settings_file_beats_default(tmp_path: Path) -> None:
    file = toml(tmp_path, 'level = "x86-64-v2"')
    variables = {"FASTINSTALL_LEVEL": "x86-64-v3"}
    assert request("--level", "native", variables=variables, toml=file).level == "native"
    assert request(variables=variables, toml=file).level == "x86-64-v3"
    assert request(toml=file).level == "x86-64-v2"
    assert request().level == "auto"


def test_every_request_works_as_a_flag_a_variable_and_a_key(tmp_path: Path) -> None:
    wanted = Request(
        recipe="pillow",
        version="12.0.0",
        levels=("x86-64-v2", "x86-64-v4"),
        require=("jpeg", "tiff"),
        link=LinkMode.SYSTEM,
        dist_name="pillow-simd",
        jobs=3,
        offline=True,
        wheelhouse=tmp_path,
        with_system_deps=True,
        guard=False,
        upgrade=True,
        allow=(Risk.DOWNGRADE, Risk.FEATURE_LOSS),
    )
    words = {option.field: getattr(wanted, option.field) for option in REQUEST_OPTIONS}
    flags = format_flags(wanted)
    variables = {option.variable: _written(words[option.field], negated=option.negated) for option in REQUEST_OPTIONS}
    keys = "\n".join(f"{field} = {_toml(value)}" for field, value in words.items())
    assert request(*flags) == wanted
    assert request(variables=variables) == wanted
    assert request(toml=toml(tmp_path, keys)) == wanted


def test_a_flag_for_one_level_overrules_several_and_vice_versa(tmp_path: Path) -> None:
    file = toml(tmp_path, 'levels = ["x86-64-v2", "x86-64-v4"]')
    found = request("--level", "x86-64-v3", toml=file)
    assert (found.level, found.levels) == ("x86-64-v3", ())
    found = request("--levels", "x86-64-v2,x86-64-v3", variables={"FASTINSTALL_LEVEL": "native"})
    assert (found.level, found.levels) == ("auto", ("x86-64-v2", "x86-64-v3"))


def test_equivalent_flags_name_levels_but_not_avoided_versions() -> None:
    assert format_flags(Request(levels=("x86-64-v2", "x86-64-v3"), avoid=("13.1.0",))) == (
        "--levels",
        "x86-64-v2,x86-64-v3",
    )


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "False", "OFF", ""])
@pytest.mark.parametrize(
    "option", [option for option in REQUEST_OPTIONS if not option.metavar], ids=lambda option: option.flag
)
def test_a_switch_that_is_off_in_its_variable_is_off(word: str, option: object) -> None:
    assert request(variables={option.variable: word}) == Request()  # type: ignore[attr-defined]  # an Option


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE"])
def test_a_switch_that_is_on_in_its_variable_is_on(word: str) -> None:
    assert request(variables={"FASTINSTALL_OFFLINE": word}).offline
    assert not request(variables={"FASTINSTALL_NO_GUARD": word}).guard


def test_a_variable_that_is_off_beats_a_file_that_says_on(tmp_path: Path) -> None:
    file = toml(tmp_path, "offline = true\nguard = false")
    found = request(variables={"FASTINSTALL_OFFLINE": "0", "FASTINSTALL_NO_GUARD": "0"}, toml=file)
    assert not found.offline
    assert found.guard


def test_an_empty_variable_counts_as_absent(tmp_path: Path) -> None:
    file = toml(tmp_path, 'level = "x86-64-v2"\nrequire = ["tiff"]')
    found = request(variables={"FASTINSTALL_LEVEL": "", "FASTINSTALL_REQUIRE": ""}, toml=file)
    assert (found.level, found.require) == ("x86-64-v2", ("tiff",))


BAD = [
    ("jobs", "--jobs", "0", "expected a number of at least 1"),
    ("jobs", "--jobs", "many", "expected a number of at least 1"),
    ("link", "--link", "static", "'static' is not one of bundle, env, system"),
    ("dist_name", "--dist-name", "PIL", "'PIL' is not one of pillow, pillow-simd"),
    ("wheelhouse", "--wheelhouse", "/nowhere/at/all", "/nowhere/at/all is not a directory"),
    ("allow", "--allow", "everything", "'everything' is not one of force-remove, vulnerable"),
]


@pytest.mark.parametrize(("key", "flag", "value", "problem"), BAD)
def test_a_bad_value_names_where_it_was_written(key: str, flag: str, value: str, problem: str, tmp_path: Path) -> None:
    variable = "FASTINSTALL_" + flag[2:].replace("-", "_").upper()
    file = toml(tmp_path, f'{key} = "{value}"')
    for where, flags, variables, path in (
        (f"{flag}: ", (flag, value), {}, None),
        (f"{variable}: ", (), {variable: value}, None),
        (f"{file}: {key}: ", (), {}, file),
    ):
        with pytest.raises(UsageError) as caught:
            request(*flags, variables=variables, toml=path)
        assert caught.value.message.startswith(where + problem)


def test_a_value_that_is_overruled_is_not_even_read(tmp_path: Path) -> None:
    file = toml(tmp_path, "jobs = -1")
    assert request("--jobs", "2", variables={"FASTINSTALL_JOBS": "many"}, toml=file).jobs == 2


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("speed = 11", "speed", "unknown key; known here: "),
        ("offline = 'maybe'", "offline", "expected true or false, found 'maybe'"),
        ("offline = 1", "offline", "expected true or false, found 1"),
        ("jobs = true", "jobs", "expected a number"),
        ("require = [1]", "require", "expected names"),
        ("recipe = ''", "recipe", "expected a word"),
        ("recipe = ", "", "not TOML: Invalid value"),
    ],
)
def test_a_malformed_settings_file_is_named_with_its_key(text: str, key: str, problem: str, tmp_path: Path) -> None:
    file = toml(tmp_path, text)
    with pytest.raises(DocumentError) as caught:
        request(toml=file)
    assert (caught.value.file, caught.value.key) == (file, key)
    assert caught.value.problem.startswith(problem)


def test_only_the_first_settings_file_counts(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = toml(tmp_path, "jobs = 2"), toml(tmp_path / "other", 'jobs = 3\nlevel = "native"')
    arguments, sources = parse(["setup"], {}, [tmp_path / "absent.toml", first, second])
    found = read_request(arguments, sources)
    assert (found.jobs, found.level) == (2, "auto")


def test_the_flags_of_the_default_are_none() -> None:
    assert format_flags(Request()) == ()


def _written(value: object, *, negated: bool) -> str:
    if isinstance(value, bool):
        return "true" if value is not negated else "false"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str([str(part) for part in value])
    return f"'{value}'" if isinstance(value, str | PurePath) else str(value)
