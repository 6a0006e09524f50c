"""The address of a named channel: never a public host if the configuration mentions the name."""

import pytest
from support.suite.golden import Golden

from fastinstall.core.errors import RefusedError
from fastinstall.observe.conda.channels import ChannelSettings, add_credentials, channel_urls

ALIAS = "https://me:pw@conda.example.org/t/tk-1"
SETTINGS = ChannelSettings(
    alias=ALIAS,
    custom={"team": "https://team.example.org/t/tk-2/x", "afar": "team.example.org"},
    multiple={"bundle": ("https://one.example.org/a", "two")},
    default=("https://u:p@mirror.example.org/pkgs/main",),
    mirrored={"forge": "https://mirror.example.org/forge/"},
    configured=("https://files.example.org/t/tk-3/tools", "plain"),
)


@pytest.mark.parametrize(
    ("channel", "urls"),
    [
        ("any", (f"{ALIAS}/any",)),
        ("any/label/dev", (f"{ALIAS}/any/label/dev",)),
        ("team", ("https://team.example.org/x/t/tk-2/team",)),
        ("team/sub", ("https://team.example.org/x/t/tk-2/team/sub",)),
        ("teams", (f"{ALIAS}/teams",)),
        ("afar", (f"{ALIAS}/afar",)),
        ("forge", ("https://mirror.example.org/forge",)),
        ("bundle", ("https://one.example.org/a", f"{ALIAS}/two")),
        ("defaults", ("https://u:p@mirror.example.org/pkgs/main",)),
        ("pkgs/main", ("https://u:p@mirror.example.org/pkgs/main",)),
        ("nodefaults", ()),
        ("any/linux-64", (f"{ALIAS}/any",)),
        ("./here", ("./here",)),
        ("/srv/channel", ("/srv/channel",)),
        ("https://files.example.org/tools/noarch", ("https://files.example.org/t/tk-3/tools",)),
    ],
)
def test_a_name_lies_where_the_configuration_says(channel: str, urls: tuple[str, ...]) -> None:
    assert channel_urls((channel,), SETTINGS) == urls


def test_without_configuration_a_name_is_the_public_hosts() -> None:
    assert channel_urls(("conda-forge", "conda-forge"), ChannelSettings()) == ("conda-forge",)


@pytest.mark.parametrize("name", ["defaults", "local", "pkgs/main"])
def test_a_name_that_conda_alone_knows_is_refused(name: str, golden: Golden) -> None:
    with pytest.raises(RefusedError, match=f"'{name}'") as caught:
        channel_urls((name,), ChannelSettings())
    golden(caught.value)
    assert "--engine conda" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://conda.example.org/any/linux-64/a-1-0.conda", f"{ALIAS}/any/linux-64/a-1-0.conda"),
        ("https://team.example.org/x/team/noarch/b.conda", "https://team.example.org/x/t/tk-2/team/noarch/b.conda"),
        ("https://team.example.org/x/teams", "https://team.example.org/x/teams"),
        ("http://conda.example.org/any", "http://conda.example.org/any"),
        ("https://conda.example.org.evil.example/any", "https://conda.example.org.evil.example/any"),
        ("https://conda.example.org:8443/any", "https://conda.example.org:8443/any"),
        ("https://other:pw@conda.example.org/any", "https://other:pw@conda.example.org/any"),
        ("https://files.example.org/tools", "https://files.example.org/t/tk-3/tools"),
        ("file:///srv/x", "file:///srv/x"),
    ],
)
def test_credentials_go_only_to_the_place_configured_for_them(url: str, found: str) -> None:
    assert add_credentials(url, SETTINGS) == found


def test_what_is_secret_is_not_shown() -> None:
    assert "tk-" not in repr(SETTINGS)
