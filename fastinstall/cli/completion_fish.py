"""Completion for fish 3.1 and later. Source: complete(1)."""

from collections.abc import Iterator

from fastinstall import __version__
from fastinstall.cli.completion_values import Flag, Kind, Value, Verb

_HEAD = f"""\
# fish completion of fastinstall {__version__}, made by: fastinstall completion fish

function __fastinstall_verb --description 'Whether one of these verbs has been typed'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

function __fastinstall_no_verb --description 'Whether none has been typed'
    test (count (commandline -opc)) -eq 1
end

function __fastinstall_environments --description 'Environments that fastinstall and conda have written down'
    set -l state $XDG_STATE_HOME
    test -n "$state"; or set state ~/.local/state
    for file in $state/fastinstall/environments.txt ~/.conda/environments.txt
        test -r $file; or continue
        while read -l prefix
            test -d $prefix; and printf '%s/\\tknown environment\\n' $prefix
        end <$file
    end
end

complete -c fastinstall -e
complete -c fastinstall -f
complete -c fastinstall -n __fastinstall_no_verb -s h -l help -d 'the verbs, with examples'
complete -c fastinstall -n __fastinstall_no_verb -l version -d 'which fastinstall this is'
"""


def render(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    lines = (
        *(_word("__fastinstall_no_verb", verb.name, verb.says) for verb in verbs),
        *(_flag(flag, names) for flag, names in _shared(verbs)),
        *(line for verb in verbs for line in _arguments(verb)),
    )
    return _HEAD + "\n".join(lines) + "\n"


def _shared(verbs: tuple[Verb, ...]) -> list[tuple[Flag, list[str]]]:
    """Each flag once, with the verbs that have it in the same words."""
    found: list[tuple[Flag, list[str]]] = []
    for verb in verbs:
        for flag in verb.flags:
            known = next((names for each, names in found if each == flag), None)
            if known is None:
                found.append((flag, [verb.name]))
            else:
                known.append(verb.name)
    return found


def _flag(flag: Flag, verbs: list[str]) -> str:
    spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    value = "" if flag.value is None or flag.optional else " " + _taken(flag.value)
    return f"{_start('__fastinstall_verb ' + ' '.join(verbs))} {spelled}{value} -d {_quoted(flag.says)}"


def _taken(value: Value) -> str:
    """What stands behind a flag."""
    match value.kind:
        case Kind.WORDS:
            return f"-x -a {_quoted(' '.join(value.words))}"
        case Kind.LIST:
            return f"-x -a {_quoted('(__fish_append , ' + ' '.join(value.words) + ')')}"
        case Kind.FILES:
            return "-r -F"
        case Kind.DIRECTORIES:
            return "-x -a '(__fish_complete_directories)'"
        case Kind.ENVIRONMENTS:
            return "-x -a '(__fastinstall_environments; __fish_complete_directories)'"
        case Kind.FREE:
            return "-x"


def _arguments(verb: Verb) -> Iterator[str]:
    is_verb = f"__fastinstall_verb {verb.name}"
    if verb.first is not None:
        once = "" if "" in verb.following else f"; and not __fish_seen_subcommand_from {' '.join(verb.first.words)}"
        yield from _argument(is_verb + (once if verb.first.words else ""), verb.first)
    for word, value in verb.following.items():
        if word:
            yield from _argument(f"{is_verb}; and __fish_seen_subcommand_from {word}", value)


def _argument(condition: str, value: Value) -> Iterator[str]:
    if value.kind is Kind.FILES:
        yield f"{_start(condition)} -F"
    for word, says in value.words.items():
        yield _word(condition, word, says)


def _word(condition: str, word: str, says: str) -> str:
    described = f" -d {_quoted(says)}" if says else ""
    return f"{_start(condition)} -a {_quoted(word)}{described}"


def _start(condition: str) -> str:
    return f"complete -c fastinstall -n {_quoted(condition)}"


def _quoted(text: str) -> str:
    r"""In single quotes, where fish knows \\ and \' alone."""
    return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"
