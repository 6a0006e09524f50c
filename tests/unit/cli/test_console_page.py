import pytest

from fastinstall.cli.console import SHOWN, Page

PATH = "/srv/images/env/lib/python3.11/site-packages/pillow.libs/libjpeg-0d45d2bd.so.62.4.0"


def test_without_a_terminal_no_line_is_broken() -> None:
    text = "word " * 100 + "end"
    assert list(Page().lines(text, first="- ", rest="  ")) == [f"- {text}"]


@pytest.mark.parametrize("width", [40, 80, 132])
def test_lines_fit_the_terminal_and_hang_below_each_other(width: int) -> None:
    lines = list(Page(width=width).lines("word " * 100, first="  1. ", rest="     "))
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith("  1. word")
    assert all(line.startswith("     word") for line in lines[1:])
    assert " ".join(lines).split() == ["1.", *["word"] * 100]


def test_the_first_line_may_start_further_right_than_the_others() -> None:
    lines = list(Page(width=40).lines("word " * 20, first=" " * 20, rest="  "))
    assert all(len(line) <= 40 for line in lines)
    assert lines[1].startswith("  word")


def test_paths_and_flags_stay_whole() -> None:
    assert f"  {PATH}" in list(Page(width=40).lines(f"it lies in {PATH} and is -fwrapv-like", rest="  "))


def test_an_empty_text_is_an_empty_line() -> None:
    assert list(Page(width=80).lines("", first="- ")) == ["- "]


def test_a_command_at_the_end_stays_on_one_line() -> None:
    words, command = "make one:", "fastinstall setup --new-env ./fast-env --python /usr/local/bin/python3.13"
    lines = list(Page(width=60).advice(f"{words} {command}", first="  hint: ", rest="    "))
    assert lines == [f"  hint: {words}", f"    {command}"]


def test_a_command_of_a_free_threaded_python_stays_on_one_line() -> None:
    words, command = "remove it:", "/srv/environments/images/bin/python3.14t -m pip uninstall --yes pillow"
    lines = list(Page(width=60).advice(f"{words} {command}", first="  hint: ", rest="    "))
    assert lines == [f"  hint: {words}", f"    {command}"]


def test_a_command_alone_stays_on_one_line() -> None:
    command = "fastinstall rollback --to 20261129T232631Z-5e3f87 --yes --allow force-remove --prefix /srv/env"
    assert list(Page(width=60).advice(command, first="  hint: ", rest="    ")) == [f"  hint: {command}"]


def test_each_of_two_commands_has_a_line_of_its_own() -> None:
    hint = "name it: fastinstall doctor --prefix /srv/env; or examine all: fastinstall doctor --all"
    lines = list(Page(width=60).advice(hint, first="  hint: ", rest="    "))
    assert lines == [
        "  hint: name it:",
        "    fastinstall doctor --prefix /srv/env",
        "    or examine all: fastinstall doctor --all",
    ]


def test_advice_that_fits_is_one_line() -> None:
    assert list(Page(width=80).advice("look: fastinstall doctor")) == ["look: fastinstall doctor"]


def test_colour_counts_for_no_column_and_ends_with_its_line() -> None:
    plain = list(Page(width=40).lines("word " * 20, rest="  "))
    painted = list(Page(width=40, colour=True).lines("word " * 20, rest="  ", style="error"))
    assert [line.replace("\x1b[31m", "").replace("\x1b[0m", "") for line in painted] == plain
    assert all(line.endswith("\x1b[0m") for line in painted)


def test_long_lists_are_cut_with_the_number_of_what_is_left_out() -> None:
    items = [str(number) for number in range(SHOWN + 10)]
    *shown, rest = Page().shortened(items)
    assert shown == items[:SHOWN]
    assert "10 more" in rest


def test_a_list_is_not_cut_to_save_a_single_line() -> None:
    items = tuple(str(number) for number in range(SHOWN + 1))
    assert Page().shortened(items) == items


def test_verbose_shows_lists_whole() -> None:
    items = tuple(str(number) for number in range(100))
    assert Page(verbose=True).shortened(items) == items
