"""Reads a Dockerfile as its reference says, strictly: an instruction or a flag that is not known here is a failure."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

INSTRUCTIONS = ("FROM", "ARG", "ENV", "RUN", "COPY", "USER", "WORKDIR", "LABEL", "CMD")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One of them.

    Attributes:
        name: in capitals.
        words: what follows, continued lines joined.
    """

    name: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What is between one FROM and the next.

    Attributes:
        base: an image, or the name of an earlier stage.
        name: after AS; empty without one.
        instructions: in their order.
    """

    base: str
    name: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, kw_only=True)
class ImageFile:
    """All of it.

    Attributes:
        arguments: ARG before the first FROM, with their defaults.
        stages: in their order.
    """

    arguments: Mapping[str, str]
    stages: tuple[Stage, ...]


def read_image_file(text: str, given: Mapping[str, str]) -> ImageFile:
    """Read a file, with the arguments that are given for its FROM lines."""
    instructions = list(_instructions(text))
    first = next(index for index, each in enumerate(instructions) if each.name == "FROM")
    arguments: dict[str, str] = {}
    for each in instructions[:first]:
        assert each.name == "ARG", f"{each.name} before the first FROM"
        arguments |= argument_of(each.words, given)
    return ImageFile(arguments=arguments, stages=tuple(_stages(instructions[first:], arguments)))


def argument_of(words: str, given: Mapping[str, str]) -> dict[str, str]:
    """The value of an ARG: given, or its default; nothing where there is neither."""
    name, equals, default = words.partition("=")
    if name in given:
        return {name: given[name]}
    return {name: "".join(shlex.split(default))} if equals else {}


def pairs_of(words: str, variables: Mapping[str, str]) -> dict[str, str]:
    """The names and values of ENV and LABEL."""
    found = [word.partition("=") for word in shlex.split(expanded(words, variables))]
    assert all(equals for _, equals, _ in found), words
    return {name: value for name, _, value in found}


def expanded(words: str, variables: Mapping[str, str]) -> str:
    """With variables put in; one that is not known is empty."""
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), words)


def _instructions(text: str) -> Iterator[Instruction]:
    for line in _logical_lines(text):
        name, _, words = line.partition(" ")
        assert name in INSTRUCTIONS, f"no instruction that is known here: {line}"
        yield Instruction(name=name, words=words.strip())


def _logical_lines(text: str) -> Iterator[str]:
    collected = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not collected and not line.strip()):
            continue
        assert line.strip(), "an empty line inside an instruction"
        if line.endswith("\\"):
            collected += line[:-1]
            continue
        yield collected + line
        collected = ""
    assert not collected, "the last line is continued"


def _stages(instructions: Sequence[Instruction], arguments: Mapping[str, str]) -> Iterator[Stage]:
    starts = [index for index, each in enumerate(instructions) if each.name == "FROM"]
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        base, *named = expanded(instructions[start].words, arguments).split()
        assert not named or (named[0] == "AS" and len(named) == 2), instructions[start].words
        yield Stage(base=base, name=named[1] if named else "", instructions=tuple(instructions[start + 1 : end]))
