"""Completion for bash 4.4 and later, without the package bash-completion.

Paths are left to readline (`compopt -o default`), which knows how to quote them.
Source: bash(1), Programmable Completion.
"""

from collections.abc import Iterator
from shlex import quote

from fastinstall import __version__
from fastinstall.cli.completion_values import Kind, Value, Verb

_HEAD = f"""\
# bash completion of fastinstall {__version__}, made by: fastinstall completion bash
"""

_BODY = r"""
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
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
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


def render(verbs: tuple[Verb, ...]) -> str:
    """The script."""
    names = quote(" ".join((*(verb.name for verb in verbs), "--help", "--version")))
    functions = (
        f"_fastinstall_verbs={names}",
        *_function("flags", '$1: verb; sets "words"', "$1", _flags(verbs), "*) words=--help"),
        *_function("value", '$1: verb, $2: flag; sets "kind" and "words", or fails', "$1 $2", _values(verbs)),
        *_function("argument", "$1: verb, $2: how many before, $3: the first; likewise", "$1 $2 $3", _arguments(verbs)),
    )
    return _HEAD + "\n".join(functions) + "\n" + _BODY


def _function(name: str, says: str, subject: str, cases: Iterator[str], other: str = "*) return 1") -> Iterator[str]:
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


def _arguments(verbs: tuple[Verb, ...]) -> Iterator[str]:
    for verb in verbs:
        if verb.first is not None:
            yield f'"{verb.name} 0 ") {_set(verb.first)}'
        for word, value in verb.following.items():
            pattern = f'"{verb.name} "*" {word}"' if word else f'"{verb.name} "*'
            yield f"{pattern}) {_set(value)}"


def _set(value: Value) -> str:
    if value.kind in (Kind.WORDS, Kind.LIST):
        return f"kind={value.kind} words={quote(' '.join(value.words))}"
    return f"kind={value.kind}"
