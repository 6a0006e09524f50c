"""The command line, as argparse reads it: the verb, its flags, and what variables and settings put in their place."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from fastinstall import __version__
from fastinstall.cli import readers
from fastinstall.cli.options import WISHES
from fastinstall.cli.settings import Reader, Sources, load_settings, variable_of
from fastinstall.cli.verbs import VERBS, add_common, process_number
from fastinstall.errors import UsageError
from fastinstall.system.surroundings import refuse_planted

_OVERRULES = {
    "--prefix": ("new_env", "python", "pid", "all"),
    "--new-env": ("prefix",),
    "--python": ("prefix", "pid", "all"),
    "--level": ("levels",),
    "--levels": ("level",),
    "--all": ("prefix", "python", "pid", "fix"),
    "--pid": ("prefix", "python", "all", "fix"),
    "--fix": ("pid", "all"),
    "--host-flags": ("host_flags",),
}
_HELP = frozenset({"-h", "--help", "--help-all"})


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        from fastinstall.cli.help import screen  # noqa: PLC0415 (few runs ask for it)

        return screen(self)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")

    def parse_known_args(  # type: ignore[override]  # the one of its overloads that argparse itself calls
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Let words that follow a flag join the last positional, as with `guard check --quiet FILE`.

        argparse takes that one for ended where a flag follows the word before it.
        """
        found, rest = super().parse_known_args(args, namespace)
        ended = next((each for each in self._actions if each.nargs == "*" and not each.option_strings), None)
        if ended is not None and not any(word.startswith("-") for word in rest):
            setattr(found, ended.dest, [*getattr(found, ended.dest), *rest])
            return found, []
        return found, rest


def parse(
    words: Sequence[str], variables: Mapping[str, str], candidates: Iterable[Path]
) -> tuple[argparse.Namespace, Sources]:
    """Read the command line; what it leaves open comes from variables and settings.

    Args:
        words: the command line without the program.
        variables: environment variables.
        candidates: settings files; the first one that is there counts.

    Returns:
        The flags, and where the wishes that they leave open are found.

    Raises:
        UsageError: an unknown flag or verb, or a value that cannot be read.
        DocumentError: a malformed settings file.
    """
    wanted = () if _HELP & set(words) else candidates
    settings = load_settings(wanted, _keys)
    if settings.file is not None:
        refuse_planted(settings.file, variables, "run from another directory, or remove that file")
    sources = Sources(variables=variables, settings=settings, overruled=_overruled(words))
    parser = build_parser(words[0] if words and words[0] in VERBS else None)
    for verb in verbs_of(parser):
        _defaults_from(sources, verb)
    return parser.parse_args(words), sources


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        only: the one verb that it is to know, because making all of them takes longer than parsing; None for all.
    """
    parser = _Parser(
        prog="fastinstall",
        description="Build, prove and guard the fast Python image stack: Pillow with SIMD kernels.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fastinstall {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser, prog=parser.prog)
    for name in VERBS if only is None else (only,):
        summary, fill = VERBS[name]
        described = summary[0].upper() + summary[1:] + "."
        verb = verbs.add_parser(name, help=summary, description=described, allow_abbrev=False)
        fill(verb)
        add_common(verb)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of the verbs that a parser of the command line knows, in their order."""
    # argparse has no other way to list them.
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    return [verb for action in found for verb in action.choices.values()]


def _settable(verb: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """The flags that are no wishes, with their actions."""
    for action in verb._actions:  # noqa: SLF001 (argparse has no other way to list them)
        flag = next((name for name in action.option_strings if name.startswith("--")), None)
        if flag is not None and flag not in _HELP and not action.dest.startswith("wish_"):
            yield flag, action


def _keys() -> set[str]:
    verbs = verbs_of(build_parser())
    return {option.field for option in WISHES} | {_key(flag) for verb in verbs for flag, _ in _settable(verb)}


def _key(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _defaults_from(sources: Sources, verb: argparse.ArgumentParser) -> None:
    for flag, action in _settable(verb):
        for value in sources.find(_key(flag), variable_of(flag), _reader(action)):
            action.default, action.required = value, False


def _reader(action: argparse.Action) -> Reader:
    if action.nargs == 0:
        return readers.switch
    if isinstance(action.default, list):
        return readers.names
    if action.type is process_number:
        return readers.count
    return readers.word_of([str(choice) for choice in action.choices]) if action.choices else readers.text


def _overruled(words: Sequence[str]) -> frozenset[str]:
    """A flag that names the target or a level overrules variables and settings that would name another one."""
    flags = {word.partition("=")[0] for word in words}
    return frozenset(key for flag, keys in _OVERRULES.items() if flag in flags for key in keys)
