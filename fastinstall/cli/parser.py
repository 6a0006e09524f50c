"""Parse the command line: the verbs, their flags, and the defaults that variables and settings give to flags."""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fastinstall import __version__
from fastinstall.cli import options
from fastinstall.cli.options import REQUEST_OPTIONS, Reader, Sources, add_request_options, load_settings
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import PROGRAM, spell_commands
from fastinstall.core.surroundings import refuse_planted

_OVERRULES = {
    "--prefix": ("new_env", "python", "all"),
    "--new-env": ("prefix",),
    "--python": ("prefix", "all"),
    "--level": ("levels",),
    "--levels": ("level",),
    "--all": ("prefix", "python", "fix"),
    "--fix": ("all",),
    "--host-flags": ("host_flags",),
}
_HELP = frozenset({"-h", "--help", "--help-all"})


class _Parser(argparse.ArgumentParser):
    program = PROGRAM

    def format_help(self) -> str:
        from fastinstall.cli.help import screen  # only for help

        return spell_commands(screen(self), self.program)

    def error(self, message: str) -> NoReturn:
        action = next((each for each in self._actions if each.dest == "action" and each.choices), None)
        if action is not None and message.startswith(f"the following arguments are required: {action.dest}"):
            words = [str(word) for word in action.choices or ()]
            raise UsageError(f"{self.prog} needs one of: {', '.join(words)}", hint=f"{self.prog} --help")
        raise UsageError(message.removeprefix("argument "), hint=f"{self.prog} --help")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        known, is_verb = [str(choice) for choice in action.choices], action.dest == "verb"
        meant = _find_similar(str(value), known)
        name = "unknown verb" if is_verb else "/".join(action.option_strings) or f"unknown {action.dest}"
        program = f"{self.prog} {meant}" if is_verb and meant else self.prog
        choice = f"did you mean {meant}?" if meant else f"choose one of {', '.join(known)}"
        raise UsageError(f"{name} {value!r}: {choice}", hint=f"{program} --help")

    def parse_known_args(  # type: ignore[override]  # the only overload that argparse itself calls
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Accept values of a positional argument after a flag, too, as in `guard check --quiet FILE`.

        argparse ends an argument with `nargs="*"` at the first flag.
        """
        found, rest = super().parse_known_args(args, namespace)
        ended = next((each for each in self._actions if each.nargs == "*" and not each.option_strings), None)
        if ended is not None and not any(word.startswith("-") for word in rest):
            setattr(found, ended.dest, [*getattr(found, ended.dest), *rest])
            return found, []
        return found, rest


def parse(
    words: Sequence[str], variables: Mapping[str, str], candidates: Iterable[Path], program: str = PROGRAM
) -> tuple[argparse.Namespace, Sources]:
    """Parse the command line; variables and settings give the values of absent flags.

    Args:
        words: the command line without the program.
        variables: environment variables, some of which set flags.
        candidates: paths of settings files; the first that exists is read.
        program: the command that starts this program, for the commands in help texts.

    Returns:
        The parsed arguments; and the sources, from which `read_request` takes the values of absent build flags.

    Raises:
        UsageError: a flag or verb is unknown, or a value is invalid.
        DocumentError: the settings file is malformed.
    """
    file, settings = next((each for each in candidates if each.exists()), None), {}
    if file is not None and not _HELP & set(words):
        settings = load_settings(file, _list_keys())
        refuse_planted(file, variables, "run from another directory, or remove that file")
    flags = frozenset(word.partition("=")[0] for word in words if word.startswith("--"))
    # Variables and settings for these keys are ignored, because a flag names another target or level.
    overruled = frozenset(key for flag, keys in _OVERRULES.items() if flag in flags for key in keys)
    sources = Sources(variables=variables, settings=settings, file=file, overruled=overruled)
    parser = build_parser(words[0] if words and words[0] in VERBS else None, program)
    for verb in verbs_of(parser):
        for flag, action in _list_settable_flags(verb):
            for value in sources.find(options.setting_of(flag), flag, _choose_reader(action)):
                action.default, action.required = value, False
    found, rest = parser.parse_known_args(words)
    if rest:
        verbs = (verb for verb in verbs_of(parser) if verb.prog.endswith(f" {found.verb}"))
        _refuse_unknown_words(rest, next(verbs, parser))
    found.given = flags
    return found, sources


def _refuse_unknown_words(rest: Sequence[str], parser: argparse.ArgumentParser) -> NoReturn:
    """Raise an error that names the first unknown flag or word, and suggests a similar flag."""
    # argparse has no public way to list the flags of a parser.
    known = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001
    flags = [each.partition("=")[0] for each in rest if each.startswith("-")]
    word = next(iter(flags), None)
    meant = _find_similar(word, known) if word else None
    problem = f"{parser.prog} has no flag {word}" if word else f"{parser.prog} takes no argument {rest[0]!r}"
    if word in known:
        problem, meant = f"{word} must come after the verb", f"{parser.prog} {word}"
    raise UsageError(f"{problem}{f': did you mean {meant}?' if meant else ''}", hint=f"{parser.prog} --help")


def _find_similar(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # only after a typing error

    return next(iter(get_close_matches(word, known, n=1, cutoff=0.7)), None)


def build_parser(only: str | None = None, program: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        only: the one verb to add, because adding all of them takes longer than parsing; None to add all.
        program: the command that starts this program, for the commands in help texts.
    """
    parser = _Parser(
        prog=PROGRAM,
        description="Install a fast Pillow, built with SIMD code and tested, and keep it that way.",
        allow_abbrev=False,
    )
    parser.program = program
    parser.add_argument("--version", action="version", version=f"fastinstall {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser, prog=parser.prog)
    for name in VERBS if only is None else (only,):
        summary, fill = VERBS[name]
        described = summary[0].upper() + summary[1:] + "."
        verb: _Parser = verbs.add_parser(name, help=summary, description=described, allow_abbrev=False)
        fill(verb)
        add_common(verb)
        verb.program = program
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parser of each verb of a command-line parser, in order."""
    # argparse has no public way to list the parsers of verbs.
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    return [verb for action in found for verb in action.choices.values()]


def _list_settable_flags(verb: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Yield each flag of a verb with its action, except help flags and the flags of `REQUEST_OPTIONS`."""
    for action in verb._actions:  # noqa: SLF001 (argparse has no other way to list them)
        flag = next((name for name in action.option_strings if name.startswith("--")), None)
        if flag is not None and flag not in _HELP and not action.dest.startswith("request_"):
            yield flag, action


def _list_keys() -> set[str]:
    verbs = verbs_of(build_parser())
    return {option.field for option in REQUEST_OPTIONS} | {
        options.setting_of(flag) for verb in verbs for flag, _ in _list_settable_flags(verb)
    }


def _choose_reader(action: argparse.Action) -> Reader:
    if action.nargs == 0:
        return options.switch
    if isinstance(action.default, list):
        return options.name_list
    return options.word_of([str(choice) for choice in action.choices]) if action.choices else options.text


EVERYTHING = "older"
"""The value that `--forget` has without an ID: forget everything older than the current setup."""


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags that every verb has."""
    group = parser.add_argument_group("output")
    _add(group, "--json", "one JSON document on stdout")
    _add(group, "-q --quiet", "only results and errors")
    _add(group, "-v --verbose", "more detail, and tracebacks")
    _add(group, "--no-color", "no colours (also NO_COLOR)")
    parser.add_argument("--help-all", action=_Everything, nargs=0, default=argparse.SUPPRESS, help="show every flag")


class _Everything(argparse.Action):
    """The action of `--help-all`: print help with every flag, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_words: object) -> None:
        from fastinstall.cli.help import everything  # only for help

        parser._print_message(everything(parser), sys.stdout)  # noqa: SLF001 (what argparse's own action calls)
        parser.exit()


def _add_setup_flags(parser: argparse.ArgumentParser) -> None:
    add_target_flags(parser, creates=True)
    add_request_options(parser)
    _add(_add_consent_flags(parser), "--dry-run", "show the plan and stop")


def _plan(parser: argparse.ArgumentParser) -> None:
    add_target_flags(parser, creates=True)
    add_request_options(parser)
    _add(parser, "-o --output FILE", "save the plan for: fastinstall apply FILE")
    _add(parser, "--format", "how to print the plan", choices=("text", "json"))
    hosts = "for many machines: DIR with their `inspect --json`; the plan names the few wheels that serve them all"
    _add(parser, "--hosts DIR", hosts)
    _add_max_age(parser, "with --hosts: ignore facts older than this", 30)


def _apply(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a plan saved by: fastinstall plan -o FILE")
    _add(parser, "--allow RISK,...", "accept risks by name; a saved plan accepts none", dest="request_allow")
    _add_consent_flags(parser)


def _add_doctor_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checks", metavar="CHECK", nargs="*", help="run only these checks")
    add_target_flags(parser)
    _add(parser, "--list", "list the checks")
    _add(parser, "--all", "check every environment that is known; from receipts, conda, pipx and the like")
    other = "also check whether the build runs on another machine"
    hosts = f"{other}; FILE is its `inspect --json` or /proc/cpuinfo; repeatable"
    _add(parser, "--host-flags FILE", hosts, action="append", default=[])
    quick = "only read files, in a moment; PIL is not run, and unchanged files are not read again"
    _add(parser, "--quick", quick)
    _add(parser, "--fix", "repair what it finds, after asking")
    statuses = ("error", "warning", "never")
    _add(parser, "--fail-on", "when to exit with 3; default: error", choices=statuses, default="error")
    allow = "with --fix: accept risks by name; downgrade: replace a later Pillow that was asked for"
    _add(parser, "--allow RISK,...", allow, dest="request_allow")
    _add(parser, "--collect DIR", "sum up many machines: DIR with their `doctor --json`")
    _add_max_age(parser, "with --collect: ignore older reports", 7)
    _add_consent_flags(parser)


def _add_rollback_flags(parser: argparse.ArgumentParser) -> None:
    add_target_flags(parser)
    _add(parser, "--list", "list what can be undone")
    _add(parser, "--interrupted", "only recover from an interrupted run; undo no finished setup")
    _add(parser, "--to ID", "undo every setup from this one on; the beginning of its ID is enough")
    forgotten = "with ID: that setup and older ones; without: all but the last"
    forget = f"free disk space: older setups can no longer be undone; {forgotten}"
    _add(parser, "--forget ID", forget, nargs="?", const=EVERYTHING)
    _add(parser, "--allow RISK,...", "force-remove: move aside what replaced the build", dest="request_allow")
    _add_consent_flags(parser)


def _guard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "status", "remove", "pin", "check", "accept"))
    lock = "with check: requirement or lock files; exit code 3 if one would bring stock Pillow back"
    parser.add_argument("files", metavar="FILE", nargs="*", help=lock)
    _add(parser, "--pin", "with install: keep pip, uv and conda from replacing it; this delays security updates")
    _add(parser, "--project DIR", "with pin, status: the project; default: the one that contains the environment")
    _add(parser, "--wheels DIR", "with pin: where the project's tool finds the wheel; default: in your data directory")
    add_target_flags(parser)
    _add_consent_flags(parser)


def _build(parser: argparse.ArgumentParser) -> None:
    from fastinstall.core.architecture import ARCHITECTURES  # only for this verb

    add_target_flags(parser)
    add_request_options(parser)
    _add(parser, "-o --output DIR", "directory for the wheel or the channel", required=True)
    conda = "conda: make DIR a channel of conda packages; other packages in DIR stay"
    _add(parser, "--format", conda, choices=("wheel", "conda"), default="wheel")
    every = "a wheel for each CPython on this machine; pip can then install from DIR without fastinstall"
    _add(parser, "--set", every)
    _add(parser, "--hosts DIR", "for many machines: DIR with their `inspect --json`; see plan --hosts")
    machines = tuple(each.machine for each in ARCHITECTURES)
    machine = "for this architecture, as `uname -m` prints it; default: this machine's"
    _add(parser, "--machine NAME", machine, choices=machines)
    emulated = "a Python for --machine that this machine can run, to prove the wheel; repeat for each version"
    _add(parser, "--emulated-python EXE", emulated, action="append", default=[])
    _add(parser, "--unproven", "for another machine: build without comparing with the official wheel")
    _add_max_age(parser, "with --hosts: ignore facts older than this", 30)
    _add(parser, "--with-tool", "put fastinstall into DIR/tool, for offline machines")
    _add(parser, "--tool-only", "put fastinstall into DIR/tool, and build nothing")


def _add_bench_flags(parser: argparse.ArgumentParser) -> None:
    images = "images, or directories of them; without any, photos are generated"
    parser.add_argument("paths", metavar="DIR|FILE", nargs="*", help=images)
    add_target_flags(parser)
    _add(parser, "--quick", "answer within 20 seconds")
    _add(parser, "--only", "measure only this part", choices=("loading", "operations"))
    loaded = parser.add_argument_group("what is loaded")
    _add(loaded, "--workload NAME,...", "photos to generate: 500px, 12mp, png (default: all)")
    _add(loaded, "--samples N", "how many images to measure")
    _add(loaded, "--size PIXELS", "the shorter side after the resize (default: 256)")
    _add(loaded, "--crop PIXELS", "the square cut out of the middle; 0: none (default: 224)")
    _add(loaded, "--filter", "filter of the resize (default: bilinear)", choices=("bilinear", "bicubic", "lanczos"))
    _add(loaded, "--workers N,...", "how many worker processes to try")
    _add(loaded, "--threads N,...", "thread counts to try in one process; each thread decodes to an array")
    _add(loaded, "--target-rate N", "images per second that training takes")
    _add(loaded, "--loader FILE[:FUNCTION]", "your own loader, to compare with; path in, array out")
    compared = parser.add_argument_group("what it is compared with")
    _add(compared, "--list", "list the candidates and stop")
    _add(compared, "--candidates NAME,...", "measure only these (default: all that fit)")
    bring = "download these candidates into the cache first; even if they are installed; all: every candidate"
    _add(compared, "--with NAME,...", bring, dest="bring")
    _add(compared, "--no-build", "do not build the fast Pillow for this")
    _add(compared, "--print-code NAME", "print the code of a candidate and stop")


def _inspect(parser: argparse.ArgumentParser) -> None:
    add_target_flags(parser)
    _add(parser, "--redact", "leave out home directory, user, machine and secrets")


def _add_recipes_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show", "check"))
    parser.add_argument("names", metavar="NAME|FILE", nargs="*", help="a recipe, or a file to check")


def _add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "clear"), nargs="?", default="show")
    names = "directories of the cache, as listed by show; default: all"
    parser.add_argument("names", metavar="NAME", nargs="*", help=names)
    _add_consent_flags(parser)


def _add_completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")


def add_target_flags(parser: argparse.ArgumentParser, *, creates: bool = False) -> None:
    """Add the flags that name an environment; with `creates`, also `--new-env`."""
    group = parser.add_argument_group("target (default: the active environment)")
    _add(group, "--prefix DIR", "work on this environment")
    _add(group, "--python EXE", "work on the environment of this interpreter")
    if creates:
        _add(group, "--new-env DIR", "make a virtual environment in DIR; by --python if given")


def _add_consent_flags(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("consent")
    _add(group, "-y --yes", "accept the plan, but no risk")
    return group


def _add_max_age(parser: argparse.ArgumentParser, summary: str, usual: float) -> None:
    _add(parser, "--max-age DAYS", f"{summary}; any: ignore none (default: {usual})", type=_parse_days, default=usual)


def _add(group: argparse._ActionsContainer, spelling: str, summary: str, **kind: Any) -> None:  # noqa: ANN401
    """Add a flag, spelled like "-o --output FILE"; without a placeholder ("FILE") or choices, it is a switch."""
    names = [word for word in spelling.split() if word.startswith("-")]
    if value := spelling.removeprefix(" ".join(names)).strip():
        kind["metavar"] = value
    elif "choices" not in kind:
        kind["action"] = "store_true"
    group.add_argument(*names, help=summary, **kind)


def _parse_days(text: str) -> float:
    """Parse a number of days; infinite for "any"."""
    if text == "any":
        return math.inf
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of days, or any; found {text!r}")
    return days


VERBS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "setup": ("build a fast Pillow, test it, and install it", _add_setup_flags),
    "plan": ("show or save what setup would do", _plan),
    "apply": ("carry out a saved plan, if nothing has changed since", _apply),
    "doctor": ("check an environment, or repair it", _add_doctor_flags),
    "rollback": ("undo a setup: restores exactly what was there, offline", _add_rollback_flags),
    "guard": ("warn when another tool replaces it, or prevent that", _guard),
    "build": ("build the wheel, and install nothing", _build),
    "bench": ("find what would speed up loading your images", _add_bench_flags),
    "inspect": ("show what fastinstall sees, for a bug report", _inspect),
    "recipes": ("list, show or check what can be built", _add_recipes_flags),
    "cache": ("show what the cache takes on the disk, or empty it", _add_cache_arguments),
    "completion": ("print a script that completes command lines", _add_completion_arguments),
}
"""Verb to its one-line help and the function that adds its flags."""
