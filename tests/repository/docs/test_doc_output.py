"""Output that a page shows is compared with the real output, except for parts that vary."""

import pytest
from reader.output import lines_missing
from reader.readers import consented


def test_figures_paths_times_and_spaces_are_any() -> None:
    printed = "undone: 20261122T093253Z-3c8055\n  ok   PIL of /home/me/env-2, 14.5 MB"
    shown = "undone: 20261121T142549Z-fbdb5d\nok PIL of /srv/env, 22 MB"
    assert lines_missing(shown, printed) == []


def test_words_are_not() -> None:
    assert lines_missing("all is well\n", "all is wel") == ["all is well"]


def test_lines_come_in_their_order() -> None:
    assert lines_missing("a\nb", "b\na") == ["b"]


def test_dots_are_anything() -> None:
    assert lines_missing("...\nfound ... there\n...", "x\nfound something there") == []


@pytest.mark.parametrize(
    ("command", "flags", "agreed"),
    [
        ("fastinstall setup --prefix ./env", (), "fastinstall setup --yes --prefix ./env"),
        ("fastinstall doctor --fix --prefix ./env", (), "fastinstall doctor --yes --fix --prefix ./env"),
        ("fastinstall guard remove", ("--project .",), "fastinstall guard remove --yes --project ."),
    ],
)
def test_what_asks_at_the_terminal_is_agreed_to(command: str, flags: tuple[str, ...], agreed: str) -> None:
    assert consented(command, *flags) == agreed


def test_what_does_not_ask_stays() -> None:
    for command in ("fastinstall doctor", "fastinstall rollback --list", "fastinstall setup --yes", "fastinstall plan"):
        assert consented(command) == command
