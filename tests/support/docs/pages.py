"""The pages of the documentation, their fenced blocks, and the commands in these blocks."""

import re
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
LANGUAGES = frozenset(
    {
        *("sh", "text", "toml", "yaml", "json", "dockerfile", "python", "c", "ini", "html", "lua", "tcl"),
        *("nginx", "apache", "make"),
    }
)
"""Permitted languages of blocks; blocks with `sh` contain commands, which the tests execute."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_NAMED = re.compile(r"^(?:#|//) (?P<name>[\w./~-]+\.\w+|[\w./~-]*(?:Dockerfile|modulefile))$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        language: the word after the opening fence; empty without one.
        text: its lines, without the fence's indentation.
        line: line number of the opening fence, from 1.
        file: name of the file that the block shows: the fence's `title="..."`, or the first line if that is a comment
            with only a name; empty if the block shows no file.
    """

    language: str
    text: str
    line: int
    file: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A text to paste at once: a line with its continuations, or a whole script.

    Attributes:
        text: the text on the page.
        line: line number on the page, from 1.
        output: content of the next block, if its language is "text" and the command is the last in its own block;
            else empty.
    """

    text: str
    line: int
    output: str = ""

    @property
    def is_script(self) -> bool:
        """Whether the text is a script, to be saved and run."""
        return self.text.startswith("#!")


def page_files() -> list[Path]:
    """Return README.md and every page in docs/, sorted by path."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page_name(file: Path) -> str:
    """Return the relative path of a page: `docs/how-to/undo.md`."""
    return file.relative_to(ROOT).as_posix()


def slug(heading: str) -> str:
    """Return the anchor of a heading, as code forges and the site form it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section_of(text: str, section: str, others: Collection[str]) -> str:
    """Return a page in which every line outside the section is empty, so that line numbers remain.

    Args:
        text: text of the page.
        section: anchor of the heading; empty for the beginning of the page.
        others: anchors of headings that begin a section; other headings do not end one.
    """
    current, kept = "", []
    for line in _with_headings(text):
        anchor = slug(line.removeprefix("## ")) if isinstance(line, _Heading) else ""
        current = anchor if anchor in others else current
        kept.append(line if current == section else "")
    return "\n".join(kept)


class _Heading(str):
    """A heading of the second level."""

    __slots__ = ()


def _with_headings(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        if opening := _FENCE.match(line):
            fence = "" if fence else opening["indent"] + "```"
        yield _Heading(line) if not fence and line.startswith("## ") else line


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    lines, found, number = text.split("\n"), [], 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        end = _closing(lines, number, opening["indent"])
        body = "\n".join(line.removeprefix(opening["indent"]) for line in lines[number + 1 : end])
        name = _TITLE.search(opening["rest"]) or _NAMED.match(body.split("\n", 1)[0])
        found.append(Block(language=opening["language"], text=body, line=number + 1, file=name["name"] if name else ""))
        number = end + 1
    return found


def commands_of(blocks: list[Block]) -> Iterator[Block | Command]:
    """Yield, in the page's order, commands to run and blocks that show a file to write."""
    for index, block in enumerate(blocks):
        if block.language != "sh":
            if block.file:
                yield block
            continue
        behind = blocks[index + 1] if index + 1 < len(blocks) else None
        output = behind.text if behind is not None and behind.language == "text" else ""
        commands = list(_commands(block))
        for command in commands:
            last = command is commands[-1]
            yield Command(text=command.text, line=command.line, output=output if last else "")


def without_code(text: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)


def _closing(lines: list[str], number: int, indent: str) -> int:
    for end in range(number + 1, len(lines)):
        if lines[end].rstrip() == f"{indent}```":
            return end
    raise AssertionError(f"line {number + 1}: the fence is never closed")


def _commands(block: Block) -> Iterator[Command]:
    if block.text.startswith("#!"):
        yield Command(text=block.text, line=block.line + 1)
        return
    held: list[str] = []
    for number, line in enumerate(block.text.split("\n"), block.line + 1):
        if not held and (not line.strip() or line.lstrip().startswith("#")):
            continue
        held.append(line)
        text = "\n".join(held)
        if _is_whole(text):
            yield Command(text=text, line=number - len(held) + 1)
            held = []
    assert not held, f"line {block.line}: a command that never ends: {held}"


@cache
def _is_whole(text: str) -> bool:
    """Return True if a shell would run the text without waiting for more lines.

    An unfinished here-document is recognised by the warning that bash prints.
    """
    if text.endswith("\\"):
        return False
    if not re.search(r"['\"`({<]|\b(?:if|for|while|until|case)\b", text):
        return True
    checked = subprocess.run(("bash", "-n"), input=text, capture_output=True, text=True, check=False)
    return checked.returncode == 0 and not checked.stderr
