"""Code blocks of pages can be executed, and every fastinstall command in them parses."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest
from reader.provided import BRINGERS
from reader.scenarios import CASES, Part, excuses, page_parts, scenario_file, scenario_of
from support.docs.pages import LANGUAGES, Block, Command, blocks_of, commands_of, section_of, slug, without_code

from fastinstall.cli.parser import VERBS, build_parser
from fastinstall.core.errors import UsageError
from whole_proof.__main__ import add_flags

PARTS = page_parts()
_ENDS = re.compile(r"\s(?:\||&&|\|\||[;<>]|2>|#)(?:\s|$|&)")


def _commands(part: Part) -> list[Command]:
    return [each for each in commands_of(blocks_of(part.text)) if isinstance(each, Command)]


def _headings(part: Part) -> list[str]:
    return re.findall(r"^## (.+)$", without_code(part.text), re.MULTILINE)


def _everywhere(faults: Callable[[Part], Iterable[str]]) -> list[str]:
    return [f"{part.name}: {fault}" for part in PARTS for fault in faults(part)]


def test_every_block_says_what_it_is() -> None:
    def unknown(part: Part) -> Iterator[str]:
        return (f"line {each.line}" for each in blocks_of(part.text) if each.language not in LANGUAGES)

    assert _everywhere(unknown) == []


def test_no_block_is_made_by_indentation() -> None:
    def indented(part: Part) -> Iterator[str]:
        text = re.sub(r"^[-*] .*\n(?:(?: +\S.*)?\n)*", "", without_code(part.text), flags=re.MULTILINE)
        lines = text.split("\n")
        return (line for before, line in pairwise(lines) if not before and line.startswith("    "))

    assert _everywhere(indented) == []


def test_commands_bear_no_prompt() -> None:
    assert _everywhere(lambda part: (each.text for each in _commands(part) if re.match(r"[$#>] ", each.text))) == []


def test_scenarios_speak_of_commands_that_are_there() -> None:
    def unused(part: Part) -> Iterator[str]:
        scenario, commands = scenario_of(part.name), _commands(part)
        return (each.is_ for each in scenario.commands if all(scenario.of(command) is not each for command in commands))

    assert _everywhere(unused) == []


def test_an_excuse_is_one_for_such_a_command() -> None:
    def wrong(part: Part) -> Iterator[str]:
        scenario = scenario_of(part.name)
        for command in _commands(part):
            excuse = scenario.of(command).excuse
            if excuse and not excuses()[excuse].holds_for(command.text):
                yield f"{excuse}: {command.text}"

    assert _everywhere(wrong) == []


def test_what_differs_from_a_plain_run_has_a_reason() -> None:
    def unexplained(part: Part) -> Iterator[str]:
        odd = (each for each in scenario_of(part.name).commands if each.exit or each.instead or each.answer)
        return (each.is_ for each in odd if not each.because)

    assert _everywhere(unexplained) == []


def test_fastinstall_knows_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "prove", ("which only a clone has", add_flags))
    parser = build_parser()

    def unknown(part: Part) -> Iterator[str]:
        for command in _commands(part):
            for words in _calls(command):
                try:
                    parser.parse_args(words)
                except UsageError as error:
                    yield f"line {command.line}: {shlex.join(words)}: {error}"
                except SystemExit:  # --help and --version exit
                    pass

    assert _everywhere(unknown) == []


def test_every_scenario_belongs_to_a_page_or_a_section_of_one() -> None:
    files = {scenario_file(part.name) for part in PARTS}
    assert set(CASES.glob("*.toml")) - {CASES / "excuses.toml"} <= files
    headings = {f"{part.name.partition('#')[0]}#{slug(heading)}" for part in PARTS for heading in _headings(part)}
    assert {part.name for part in PARTS if part.section} <= headings


def test_a_section_runs_from_its_heading_to_the_next_section() -> None:
    text = "# a\n\n## b c\n```sh\n## d\n```\n\n## e\n## d\n"
    lines = text.split("\n")

    def kept(name: str) -> list[int]:
        section = section_of(text, name, ("b-c", "d")).split("\n")
        assert len(section) == len(lines), "lines keep their numbers"
        assert all(shown in ("", line) for shown, line in zip(section, lines, strict=True))
        return [number for number, shown in enumerate(section, 1) if shown]

    assert kept("") == [1]
    assert kept("b-c") == [3, 4, 5, 6, 8]
    assert kept("d") == [9]


def test_what_a_command_wants_can_be_brought() -> None:
    def unknown(part: Part) -> Iterator[str]:
        return (name for each in scenario_of(part.name).commands for name in each.brings if name not in BRINGERS)

    assert _everywhere(unknown) == []


def test_every_excuse_is_used() -> None:
    used = {each.excuse for part in PARTS for each in scenario_of(part.name).commands}
    assert set(excuses()) <= used


def test_a_shown_file_is_known_by_its_title_or_first_line() -> None:
    text = '```toml title="a.toml"\nx = 1\n```\n\n```yaml\n# b/c.yml\nx: 1\n```\n\n```toml\n# a remark\nx = 1\n```\n'
    assert [block.file for block in blocks_of(text)] == ["a.toml", "b/c.yml", ""]


def test_commands_keep_continuations_quotes_and_here_documents() -> None:
    whole = ["a \\\n  b", "cat <<X\nX y\nX", "if true; then\n  c\nfi   # end", 'echo "1\n2"']
    text = "\n".join(("```sh", "# a remark", *whole, "```\n"))
    done = [each for each in commands_of(blocks_of(text)) if not isinstance(each, Block)]
    assert [each.text for each in done] == whole


def _calls(command: Command) -> list[list[str]]:
    """Return the arguments of each fastinstall command line that contains no shell variable."""
    text = command.text.replace("\\\n", " ")
    found = re.findall(
        r"^\s*(?:\S*/|[A-Z_]+=\S+ |sh )*(?:fastinstall|bootstrap\.sh) (?!test\b)(.*)$", text, re.MULTILINE
    )
    return [shlex.split(_ENDS.split(f"{each} ", maxsplit=1)[0]) for each in found if "$" not in each]
