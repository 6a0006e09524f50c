"""pip settings that conflict with a pin, and settings that the pin must repeat because it would hide them."""

from pathlib import Path, PurePosixPath

import pytest
from support.suite.golden import Golden

from fastinstall.core.errors import RefusedError
from fastinstall.observe.pip_settings import PipSetting, links_beside

PREFIX = PurePosixPath("/srv/images/env")
OWN, USERS = "/srv/images/env/pip.conf", "/home/me/.config/pip/pip.conf"
WHEELS = "/srv/images/env/share/fastinstall/pin/wheels"


def _setting(origin: str, section: str, key: str, value: str) -> PipSetting:
    return PipSetting(origin=origin, section=section, key=key, value=value, later=origin == OWN)


@pytest.mark.parametrize(
    ("setting", "told", "hint"),
    [
        ((OWN, "install", "find-links", "/opt"), f"{OWN}: [install] find-links = /opt", "remove that line"),
        ((OWN, "global", "constraint", "/c.txt"), f"{OWN}: [global] constraint = /c.txt", "remove that line"),
        (
            (USERS, "install", "constraint", "/c.txt"),
            f"{USERS}: [install] constraint",
            f"remove that line from {USERS}",
        ),
        ((USERS, "global", "no-index", "true"), f"{USERS}: [global] no-index = true", "remove that line"),
        (("PIP_CONSTRAINT", ":env:", "constraint", "/c.txt"), "PIP_CONSTRAINT=/c.txt", "unset PIP_CONSTRAINT;"),
        (("PIP_NO_INDEX", ":env:", "no-index", "1"), "PIP_NO_INDEX=1", "unset PIP_NO_INDEX;"),
        (("PIP_CONFIG_FILE", ":env:", "config-file", "/dev/null"), "PIP_CONFIG_FILE=/dev/null", "unset"),
        (
            ("PIP_FIND_LINKS", ":env:", "find-links", "/opt"),
            "PIP_FIND_LINKS=/opt",
            f'export PIP_FIND_LINKS="$PIP_FIND_LINKS {WHEELS}"',
        ),
    ],
)
def test_what_would_hide_the_pin_or_be_hidden_is_a_refusal(
    setting: tuple[str, str, str, str], told: str, hint: str
) -> None:
    with pytest.raises(RefusedError) as refusal:
        links_beside(PREFIX, (_setting(*setting),))
    assert refusal.value.message.startswith(told)
    assert "conflicts" in refusal.value.message
    assert hint in str(refusal.value.hint)


def test_where_pip_installs_nothing_its_settings_forbid_nothing() -> None:
    found = (
        _setting(USERS, "global", "no-index", "true"),
        _setting("PIP_FIND_LINKS", ":env:", "find-links", "/opt"),
    )
    assert links_beside(PREFIX, found, used_by_pip=False) == ()
    own = _setting(OWN, "install", "find-links", "/opt")
    with pytest.raises(RefusedError, match="conflicts"):
        links_beside(PREFIX, (own,), used_by_pip=False)


def test_both_are_shown_and_what_a_constraint_says_of_pillow(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "c.txt").write_text("numpy<2\npillow<13\n")
    with pytest.raises(RefusedError) as refusal:
        links_beside(PREFIX, (_setting(USERS, "global", "constraint", str(tmp_path / "c.txt")),))
    golden(refusal.value)


def test_places_of_wheels_are_repeated_those_that_pip_would_take() -> None:
    found = (
        _setting("/etc/pip.conf", "global", "find-links", "/opt /opt/more /opt"),
        _setting(USERS, "global", "no-index", "false"),
    )
    assert links_beside(PREFIX, found) == ("/opt", "/opt/more")
    more = (*found, _setting(USERS, "install", "find-links", "/mine"))
    assert links_beside(PREFIX, more) == ("/mine",)


def test_a_password_is_neither_repeated_nor_told() -> None:
    found = (_setting(USERS, "global", "find-links", "https://me:secret@wheels.example.org/all"),)
    with pytest.raises(RefusedError, match="contains a password") as refusal:
        links_beside(PREFIX, found)
    assert "https://***@wheels.example.org/all" in refusal.value.message
    assert "secret" not in refusal.value.message


def test_what_environment_sh_exports_is_no_stranger() -> None:
    found = (
        _setting("PIP_CONSTRAINT", ":env:", "constraint", f"/mine.txt {PREFIX}/share/fastinstall/pin/constraints.txt"),
        _setting("PIP_FIND_LINKS", ":env:", "find-links", f"/opt {WHEELS}"),
    )
    assert links_beside(PREFIX, found) == ()
