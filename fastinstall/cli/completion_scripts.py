"""The script by which a shell completes fastinstall's command line; it is static, so TAB starts no process of ours.

- bash 4.4 and later, without the package bash-completion. Paths are left to readline (`compopt -o default`), which
  knows how to quote them. Source: bash(1), Programmable Completion.
- fish 3.1 and later. Source: complete(1).
- zsh: a function for compsys, which may also be sourced. Source: zshcompsys(1), _arguments.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from shlex import quote

from fastinstall import __version__
from fastinstall.cli.completion_values import CompletionKind, Flag, Value, Verb, verbs, vocabulary
from fastinstall.model.recipe import Recipe

_BASH_HEAD = f"""\
# bash completion of fastinstall {__version__}, made by: fastinstall completion bash
"""

_BASH_BODY = r"""
_fastinstall_path() { # $1: nothing, or "dirs"
    case $1 in
        dirs) compopt -o dirnames -o filenames 2>/dev/null ;;
        *) compopt -o default -o filenames 2>/dev/null ;;
    esac
}

_fastinstall_environments() { # $1: what is typed; adds those that fastinstall and conda have written down
    local file line
    for file in "${XDG_STATE_HOME:-$HOME/.local/state}/fastinstall/environments.txt" "$HOME/.conda/environments.txt"; do
        [[ -r $file ]] || continue
        while IFS= read -r line; do
            [[ $line == "$1"* && -d $line ]] && COMPREPLY+=("$line")
        done <"$file"
    done
    compopt -o plusdirs -o filenames 2>/dev/null
}

_fastinstall_list() { # $1: what is typed, the others: words, of which several stand with commas between
    local typed=$1 before word
    shift
    before=${typed%"${typed##*,}"}
    for word; do
        [[ ,$before == *",$word,"* || $before$word != "$typed"* ]] || COMPREPLY+=("$before$word")
    done
    compopt -o nospace 2>/dev/null
}

_fastinstall_offer() { # $1: what is typed; by $kind and $words
    local IFS=$' \t\n'
    # shellcheck disable=SC2086 # a list is handed on as its words
    case $kind in
        words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$1") ;;
        list) _fastinstall_list "$1" $words ;;
        files) _fastinstall_path ;;
        directories) _fastinstall_path dirs ;;
        environments) _fastinstall_environments "$1" ;;
    esac
    return 0
}

_fastinstall() {
    local typed=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local first='' arguments=0 position word kind words
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        kind=words words=$_fastinstall_verbs
        _fastinstall_offer "$typed"
        return
    fi
    if [[ $typed == '=' ]]; then # bash breaks "--flag=value" into three words
        typed=''
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $before == -* ]] && _fastinstall_value "$verb" "$before"; then
        _fastinstall_offer "$typed"
        return
    fi
    for ((position = 2; position < COMP_CWORD; position++)); do
        word=${COMP_WORDS[position]}
        if [[ $word == -* ]]; then
            [[ ${COMP_WORDS[position + 1]} == '=' ]] && ((position++))
            _fastinstall_value "$verb" "$word" && ((position++))
        elif [[ $word != '=' ]]; then
            ((arguments++)) || first=$word
        fi
    done
    if [[ $typed != -* ]] && _fastinstall_argument "$verb" "$arguments" "$first"; then
        _fastinstall_offer "$typed"
        return
    fi
    kind=words
    _fastinstall_flags "$verb"
    _fastinstall_offer "$typed"
}

complete -F _fastinstall fastinstall
"""


def render_bash(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    names = quote(" ".join((*(verb.name for verb in verbs), "--help", "--version")))
    functions = (
        f"_fastinstall_verbs={names}",
        *_bash_function("flags", '$1: verb; sets "words"', "$1", _flags(verbs), "*) words=--help"),
        *_bash_function("value", '$1: verb, $2: flag; sets "kind" and "words", or fails', "$1 $2", _values(verbs)),
        *_bash_function(
            "argument", "$1: verb, $2: how many before, $3: the first; likewise", "$1 $2 $3", _bash_arguments(verbs)
        ),
    )
    return _BASH_HEAD + "\n".join(functions) + "\n" + _BASH_BODY


def _bash_function(
    name: str, says: str, subject: str, cases: Iterator[str], other: str = "*) return 1"
) -> Iterator[str]:
    yield from ("", f"_fastinstall_{name}() {{ # {says}", f'    case "{subject}" in')
    yield from (f"        {case} ;;" for case in (*cases, other))
    yield from ("    esac", "}")


def _flags(verbs: tuple[Verb, ...]) -> Iterator[str]:
    for verb in verbs:
        names = " ".join(flag.names[-1] for flag in verb.flags)
        yield f"{verb.name}) words={quote(names)}"


def _values(verbs: tuple[Verb, ...]) -> Iterator[str]:
    """A case for each value, with all the flags that take it."""
    places: dict[str, list[str]] = {}
    for verb in verbs:
        for flag in verb.flags:
            if flag.value is not None and not flag.optional:
                places.setdefault(_set(flag.value), []).extend(f'"{verb.name} {name}"' for name in flag.names)
    yield from (f"{' | '.join(found)}) {does}" for does, found in places.items())


def _bash_arguments(verbs: tuple[Verb, ...]) -> Iterator[str]:
    for verb in verbs:
        if verb.first is not None:
            yield f'"{verb.name} 0 ") {_set(verb.first)}'
        for word, value in verb.following.items():
            pattern = f'"{verb.name} "*" {word}"' if word else f'"{verb.name} "*'
            yield f"{pattern}) {_set(value)}"


def _set(value: Value) -> str:
    if value.kind in (CompletionKind.WORDS, CompletionKind.LIST):
        return f"kind={value.kind} words={quote(' '.join(value.words))}"
    return f"kind={value.kind}"


_FISH_HEAD = f"""\
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


def render_fish(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    lines = (
        *(_word("__fastinstall_no_verb", verb.name, verb.says) for verb in verbs),
        *(_fish_flag(flag, names) for flag, names in _shared(verbs)),
        *(line for verb in verbs for line in _fish_arguments(verb)),
    )
    return _FISH_HEAD + "\n".join(lines) + "\n"


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


def _fish_flag(flag: Flag, verbs: list[str]) -> str:
    spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    value = "" if flag.value is None or flag.optional else " " + _complete_flag_value(flag.value)
    return f"{_start('__fastinstall_verb ' + ' '.join(verbs))} {spelled}{value} -d {_quote_text(flag.says)}"


def _complete_flag_value(value: Value) -> str:
    """What stands behind a flag."""
    match value.kind:
        case CompletionKind.WORDS:
            return f"-x -a {_quote_text(' '.join(value.words))}"
        case CompletionKind.LIST:
            return f"-x -a {_quote_text('(__fish_append , ' + ' '.join(value.words) + ')')}"
        case CompletionKind.FILES:
            return "-r -F"
        case CompletionKind.DIRECTORIES:
            return "-x -a '(__fish_complete_directories)'"
        case CompletionKind.ENVIRONMENTS:
            return "-x -a '(__fastinstall_environments; __fish_complete_directories)'"
        case CompletionKind.FREE:
            return "-x"


def _fish_arguments(verb: Verb) -> Iterator[str]:
    is_verb = f"__fastinstall_verb {verb.name}"
    if verb.first is not None:
        once = "" if "" in verb.following else f"; and not __fish_seen_subcommand_from {' '.join(verb.first.words)}"
        yield from _argument(is_verb + (once if verb.first.words else ""), verb.first)
    for word, value in verb.following.items():
        if word:
            yield from _argument(f"{is_verb}; and __fish_seen_subcommand_from {word}", value)


def _argument(condition: str, value: Value) -> Iterator[str]:
    if value.kind is CompletionKind.FILES:
        yield f"{_start(condition)} -F"
    for word, says in value.words.items():
        yield _word(condition, word, says)


def _word(condition: str, word: str, says: str) -> str:
    described = f" -d {_quote_text(says)}" if says else ""
    return f"{_start(condition)} -a {_quote_text(word)}{described}"


def _start(condition: str) -> str:
    return f"complete -c fastinstall -n {_quote_text(condition)}"


def _quote_text(text: str) -> str:
    r"""In single quotes, where fish knows \\ and \' alone."""
    return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"


_ZSH_HEAD = f"""\
#compdef fastinstall
# zsh completion of fastinstall {__version__}, made by: fastinstall completion zsh
"""

_ZSH_BODY = r"""
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
    CompletionKind.FILES: "_files",
    CompletionKind.DIRECTORIES: "_files -/",
    CompletionKind.ENVIRONMENTS: "_fastinstall_environments",
    CompletionKind.FREE: " ",
}


def render_zsh(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    names = {verb.name: verb.says for verb in verbs}
    described = {_zsh_function(value): value for verb in verbs for value in _describe_verb(verb)}
    parts = (
        *_words("verbs", "verb", names),
        *(line for name, value in described.items() for line in _words(name, value.name, value.words)),
        *(line for verb in verbs for line in _verb(verb)),
    )
    return _ZSH_HEAD + _TOLD + "\n".join(parts) + "\n" + _ZSH_BODY


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
    specs = [spec for flag in verb.flags for spec in _zsh_flag(flag)]
    if verb.first is not None:
        repeated = "" in verb.following
        specs.append(quote(("*" if repeated else "1") + _place(verb.first)))
    more = any(verb.following)
    yield "    _arguments -s -S \\"
    yield from (f"        {spec} \\" for spec in specs[:-1])
    yield f"        {specs[-1]}" + (" $following" if more else "")
    yield "}"


def _zsh_flag(flag: Flag) -> Iterator[str]:
    """Of each spelling; those of one flag exclude each other."""
    excluded = "*" if flag.repeatable else f"({' '.join(flag.names)})"
    if not flag.value:
        excluded = "(- *)" if "help" in flag.names[-1] else excluded
    for name in flag.names:
        mark = ("=" if name.startswith("--") else "+") if flag.value else ""
        mark = "=-" if flag.optional else mark
        value = (":" if flag.optional else "") + _place(flag.value) if flag.value else ""
        yield quote(f"{excluded}{name}{mark}[{_escape_text(flag.says)}]{value}")


def _place(value: Value) -> str:
    """What `_arguments` is told of a value: its name, and how it is completed."""
    return f":{_escape_text(value.name)}:{_action(value)}"


def _action(value: Value) -> str:
    words = " ".join(value.words)
    if value.kind is CompletionKind.LIST:
        return f"_sequence compadd - {words}"
    if value.kind is not CompletionKind.WORDS:
        return _PATHS[value.kind]
    if any(value.words.values()):
        return f"_fastinstall_{_zsh_function(value)}"
    return f"compadd -S '' - {words}" if words.endswith("=") else f"({words})"


def _describe_verb(verb: Verb) -> Iterator[Value]:
    values = (*(flag.value for flag in verb.flags), verb.first, *verb.following.values())
    return (each for each in values if each and each.kind is CompletionKind.WORDS and any(each.words.values()))


def _zsh_function(value: Value) -> str:
    first = next(iter(value.words))
    return re.sub(r"[^a-z0-9]+", "_", f"{value.name}_{len(value.words)}_{first}".lower())


def _escape_text(text: str) -> str:
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


_SHELLS: Mapping[str, Callable[[tuple[Verb, ...]], str]] = {
    "bash": render_bash,
    "zsh": render_zsh,
    "fish": render_fish,
}


def completion_script(shell: str, recipes: Iterable[Recipe]) -> str:
    """Everything that a shell has to read.

    Args:
        shell: "bash", "zsh" or "fish".
        recipes: whose names are offered.
    """
    return _SHELLS[shell](verbs(vocabulary(recipes)))
