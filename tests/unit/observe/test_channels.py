"""The channels in conda's configuration files, merged as conda does."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fastinstall.core.errors import DocumentError
from fastinstall.observe.conda.channels import channel_settings, channels_of_environment, read_configured_channels

HOME, PREFIX, ROOT = "home", "opt/conda/envs/env", "opt/conda"


def _written(root: Path, files: Mapping[str, str]) -> dict[str, str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return {"HOME": str(root / HOME)}


def _channels(root: Path, files: Mapping[str, str], **variables: str) -> tuple[str, ...]:
    known = {**_written(root, files), **variables}
    return read_configured_channels(known, root / PREFIX, root / ROOT)


@pytest.mark.parametrize(
    "text",
    [
        "channels:\n  - one\n  - two\n",
        "channels:\n- one\n- two\nsolver: classic\n",
        "ssl_verify: true\nchannels:   # mine\n\n  # first\n  - one # best\n  -   'two'\n",
        'channels: ["one", two]\n',
        "channels: [one,\n  two # last\n  ]\nother: []\n",
        "channels: [\n  one,\n  'two',\n]\n",
        "channels:\r\n  - one\r\n  - two\r\n",
        "channel:\n  - one\n  - two\n",
        "custom_channels:\n  channels: https://conda.example\nchannels:\n  - one\n  - two\n",
        "x: &x one\nchannels: [*x,\n  !!str two]\n",
        "channels:\n  - >-\n    one\n  - |-\n    two\n",
        '{"channels": ["o\\x6ee", "two"]}',
    ],
)
def test_lists_of_either_style_are_read(tmp_path: Path, text: str) -> None:
    assert _channels(tmp_path, {f"{HOME}/.condarc": text}) == ("one", "two")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "channels:\n",
        "channels: []\n",
        "channels: *other\n",
        "channels:\n  one: two\n",
        "channels:\n  - one: two\n  - [three]\n  - {four: five}\n  -\n",
        "# channels:\n#  - one\n",
        "other:\n  channels:\n    - one\n",
        "\0\1\2",
        "channels: [",
        "channels",
    ],
)
def test_what_is_not_understood_is_not_there(tmp_path: Path, text: str) -> None:
    assert _channels(tmp_path, {f"{HOME}/.condarc": text}) == ()


def test_files_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / HOME).mkdir()
    (tmp_path / HOME / ".condarc").write_bytes(b"channels:\n  - \xff\xfe\n")
    assert _channels(tmp_path, {f"{PREFIX}/.condarc": "channels: [one]\n"}) == ("one",)


def test_later_places_of_the_search_path_rank_higher(tmp_path: Path) -> None:
    places = (
        f"{ROOT}/.condarc",
        f"{ROOT}/condarc",
        f"{ROOT}/condarc.d/a.yml",
        "settings/conda/.condarc",
        f"{HOME}/.config/conda/condarc",
        f"{HOME}/.conda/condarc.d/x.yaml",
        f"{HOME}/.condarc",
        f"{PREFIX}/.condarc",
        f"{PREFIX}/condarc.d/fastinstall.yml",
        f"{PREFIX}/condarc.d/other.yml",
        "mine.yml",
    )
    files = {place: f"channels: [of-{number}, shared]\n" for number, place in enumerate(places)}
    unread = {f"{PREFIX}/condarc.d/notes.txt": "channels: [never]\n", f"{HOME}/condarc": "channels: [never]\n"}
    found = _channels(
        tmp_path, files | unread, XDG_CONFIG_HOME=str(tmp_path / "settings"), CONDARC=str(tmp_path / "mine.yml")
    )
    assert found == ("of-10", "shared", *(f"of-{number}" for number in range(9, -1, -1)))


def test_a_variable_ranks_above_every_file(tmp_path: Path) -> None:
    found = _channels(tmp_path, {f"{PREFIX}/.condarc": "channels: [file]\n"}, CONDA_CHANNELS="one, two,,file")
    assert found == ("one", "two", "file")


def test_credentials_are_left_out_and_variables_put_in(tmp_path: Path) -> None:
    lines = "channels:\n  - https://$USER:${PASSWORD}@conda.example/t/tk-1/forge\n  - https://$UNKNOWN/x\n"
    found = _channels(tmp_path, {f"{HOME}/.condarc": lines}, USER="me", PASSWORD="secret")  # noqa: S106 (fake)
    assert found == ("https://conda.example/forge", "https://$UNKNOWN/x")


def test_an_environments_own_channels_are_those_of_its_own_files(tmp_path: Path) -> None:
    files = {
        f"{HOME}/.condarc": "channels: [home]\n",
        f"{PREFIX}/.condarc": "channels: [own]\n",
        f"{PREFIX}/condarc.d/fastinstall.yml": "channels:\n  - file:///srv/env/share/fastinstall/channel\n",
    }
    variables = _written(tmp_path, files)
    own = ("file:///srv/env/share/fastinstall/channel", "own")
    assert channels_of_environment(tmp_path / PREFIX, variables) == own
    assert read_configured_channels(variables, tmp_path / PREFIX, None) == (*own, "home")


def test_without_any_configuration_there_are_none(tmp_path: Path) -> None:
    assert read_configured_channels({}, tmp_path, None) == ()


def test_settings_of_several_files_are_put_together(tmp_path: Path) -> None:
    files = {
        f"{ROOT}/.condarc": "channel_alias: https://root.example.org\ncustom_channels: {a: https://one.example.org}\n",
        f"{HOME}/.condarc": "channel_alias: 'https://$USER@home.example.org'\n"
        "custom_channels:\n  a: https://two.example.org\n  b: https://three.example.org\n"
        "custom_multichannels: {m: [x, y]}\nwhitelist_channels: [m]\n",
        f"{PREFIX}/.condarc": "custom_multichannels: {m: [z]}\ndenylist_channels: [bad]\ndefault_channels: [d]\n",
    }
    known = {**_written(tmp_path, files), "USER": "me"}
    found = channel_settings(known, tmp_path / PREFIX, tmp_path / ROOT)
    assert found.alias == "https://me@home.example.org"
    assert found.custom == {"a": "https://two.example.org", "b": "https://three.example.org"}
    assert found.multiple == {"m": ("z", "x", "y")}
    assert (found.allowed, found.denied, found.default) == (("m",), ("bad",), ("d",))
    by_variable = {"CONDA_CHANNEL_ALIAS": "https://v.example.org", "CONDA_DEFAULT_CHANNELS": "e,f"}
    changed = channel_settings({**known, **by_variable}, tmp_path / PREFIX, tmp_path / ROOT)
    assert (changed.alias, changed.default) == ("https://v.example.org", ("e", "f", "d"))


def test_a_file_that_may_name_a_private_channel_must_be_readable(tmp_path: Path) -> None:
    known = _written(tmp_path, {f"{HOME}/.condarc": "channel_alias: [\n"})
    with pytest.raises(DocumentError, match=r"\.condarc: .*not YAML: .* line 2") as caught:
        channel_settings(known, tmp_path / PREFIX, None)
    assert "conda config --show-sources" in (caught.value.hint or "")
