"""The pages of the documentation, their fenced blocks, and the commands in these."""

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
"""What a block may say that it is; `sh` are commands, and these are executed."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_NAMED = re.compile(r"^(?:#|//) (?P<name>[\w./~-]+\.\w+|[\w./~-]*(?:Dockerfile|modulefile))$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        language: what stands behind the fence; empty where nothing does.
        text: its lines, without the fence's indentation.
        line: of the opening fence, from 1.
        file: the name of the file that it shows: the fence's `title="..."`, or its first line where that is a comment
            and nothing but a name; empty where it shows none.
    """

    language: str
    text: str
    line: int
    file: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What a reader pastes at once: a line with all its continuations, or a whole script.

    Attributes:
        text: as it stands there.
        line: in the page, from 1.
        output: the text block that follows its own block, where it is the last command of that; empty without one.
    """

    text: str
    line: int
    output: str = ""

    @property
    def is_script(self) -> bool:
        """Whether it is a file to be saved and run."""
        return self.text.startswith("#!")


def page_files() -> list[Path]:
    """README.md and every page below docs/, by their path."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page_name(file: Path) -> str:
    """`docs/how-to/undo.md` of its file."""
    return file.relative_to(ROOT).as_posix()


def slug(heading: str) -> str:
    """The anchor of a heading, as code forges and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section_of(text: str, section: str, others: Collection[str]) -> str:
    """What stands from the heading `## section` to that of the next of `others`, on the lines where it stands.

    Args:
        text: of the page.
        section: the heading's anchor; empty for the page's beginning.
        others: the anchors at which other sections begin.
    """
    current, kept = "", []
    for line in _with_headings(text):
        anchor = slug(line.removeprefix("## ")) if isinstance(line, _Heading) else ""
        current = anchor if anchor in others else current
        kept.append(line if current == section else "")
    return "\n".join(kept)


class _Heading(str):
    """A line that is a heading of the second level."""

    __slots__ = ()


def _with_headings(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        if opening := _FENCE.match(line):
            fence = "" if fence else opening["indent"] + "```"
        yield _Heading(line) if not fence and line.startswith("## ") else line


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in their order."""
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
    """What a reader does, in the page's order: commands to run, and blocks that show a file to be written."""
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
    """A page without its fenced blocks."""
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
    """Whether a shell would run it, and not wait for more. bash warns of a here-document that the end cuts off."""
    if text.endswith("\\"):
        return False
    if not re.search(r"['\"`({<]|\b(?:if|for|while|until|case)\b", text):
        return True
    checked = subprocess.run(("bash", "-n"), input=text, capture_output=True, text=True, check=False)
    return checked.returncode == 0 and not checked.stderr
