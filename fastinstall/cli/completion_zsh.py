"""Completion for zsh: a function for compsys, which also may be sourced. Source: zshcompsys(1), _arguments."""

import re
from collections.abc import Iterator, Mapping
from shlex import quote

from fastinstall import __version__
from fastinstall.cli.completion_values import Flag, Kind, Value, Verb

_HEAD = f"""\
#compdef fastinstall
# zsh completion of fastinstall {__version__}, made by: fastinstall completion zsh
"""

_BODY = r"""
_fastinstall_environments() {
    local -a known
    local file
    for file in "${XDG_STATE_HOME:-$HOME/.local/state}/fastinstall/environments.txt" "$HOME/.conda/environments.txt"; do
        [[ -r $file ]] && known+=(${(f)"$(<$file)"})
    done
    known=(${^known}(N-/))
    _alternative 'environments:known environment:compadd -a known' 'directories:directory:_files -/'
}

_fastinstall() {
    local curcontext="$curcontext" state line
    typeset -A opt_args
    _arguments -C '(- :)'{-h,--help}'[the verbs, with examples]' '(- :)--version[which fastinstall this is]' \
        '1:verb:_fastinstall_verbs' '*:: :->arguments'
    [[ $state == arguments ]] || return
    curcontext="${curcontext%:*:*}:fastinstall-$line[1]:"
    (( $+functions[_fastinstall_verb_$line[1]] )) && _fastinstall_verb_$line[1]
}

if [[ $funcstack[1] == _fastinstall ]]; then
    _fastinstall "$@"
else
    compdef _fastinstall fastinstall
fi
"""
_TOLD = r"""
_fastinstall_told() { # $1: what it is, the others: word:meaning
    local -a told=("${@:2}")
    _describe -t values "$1" told
}
"""


_PATHS = {
    Kind.FILES: "_files",
    Kind.DIRECTORIES: "_files -/",
    Kind.ENVIRONMENTS: "_fastinstall_environments",
    Kind.FREE: " ",
}


def render(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    names = {verb.name: verb.says for verb in verbs}
    described = {_function(value): value for verb in verbs for value in _described(verb)}
    parts = (
        *_words("verbs", "verb", names),
        *(line for name, value in described.items() for line in _words(name, value.name, value.words)),
        *(line for verb in verbs for line in _verb(verb)),
    )
    return _HEAD + _TOLD + "\n".join(parts) + "\n" + _BODY


def _words(name: str, what: str, words: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"_fastinstall_{name}() {{", f"    _fastinstall_told {quote(what)} \\")
    told = [quote(f"{word}:{says}" if says else word) for word, says in words.items()]
    yield from (f"        {word} \\" for word in told[:-1])
    yield from (f"        {told[-1]}", "}")


def _verb(verb: Verb) -> Iterator[str]:
    yield from ("", f"_fastinstall_verb_{verb.name}() {{")
    for word, value in verb.following.items():
        if word:
            yield f"    [[ ${{words[(r){word}]-}} == {word} ]] && local -a following=({quote('*' + _place(value))})"
    specs = [spec for flag in verb.flags for spec in _flag(flag)]
    if verb.first is not None:
        repeated = "" in verb.following
        specs.append(quote(("*" if repeated else "1") + _place(verb.first)))
    more = any(verb.following)
    yield "    _arguments -s -S \\"
    yield from (f"        {spec} \\" for spec in specs[:-1])
    yield f"        {specs[-1]}" + (" $following" if more else "")
    yield "}"


def _flag(flag: Flag) -> Iterator[str]:
    """Of each spelling; those of one flag exclude each other."""
    excluded = "*" if flag.repeatable else f"({' '.join(flag.names)})"
    if not flag.value:
        excluded = "(- *)" if "help" in flag.names[-1] else excluded
    for name in flag.names:
        mark = ("=" if name.startswith("--") else "+") if flag.value else ""
        mark = "=-" if flag.optional else mark
        value = (":" if flag.optional else "") + _place(flag.value) if flag.value else ""
        yield quote(f"{excluded}{name}{mark}[{_escaped(flag.says)}]{value}")


def _place(value: Value) -> str:
    """What `_arguments` is told of a value: its name, and how it is completed."""
    return f":{_escaped(value.name)}:{_action(value)}"


def _action(value: Value) -> str:
    words = " ".join(value.words)
    if value.kind is Kind.LIST:
        return f"_sequence compadd - {words}"
    if value.kind is not Kind.WORDS:
        return _PATHS[value.kind]
    if any(value.words.values()):
        return f"_fastinstall_{_function(value)}"
    return f"compadd -S '' - {words}" if words.endswith("=") else f"({words})"


def _described(verb: Verb) -> Iterator[Value]:
    values = (*(flag.value for flag in verb.flags), verb.first, *verb.following.values())
    return (each for each in values if each and each.kind is Kind.WORDS and any(each.words.values()))


def _function(value: Value) -> str:
    first = next(iter(value.words))
    return re.sub(r"[^a-z0-9]+", "_", f"{value.name}_{len(value.words)}_{first}".lower())


def _escaped(text: str) -> str:
    return re.sub(r"([\\\[\]:])", r"\\\1", text)
