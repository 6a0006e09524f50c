#!/bin/sh
# Runs fastinstall from this checkout on a machine that has nothing of it:
#
#     sh bootstrap.sh setup --yes --new-env ./fast-env
#     sh bootstrap.sh test [--full]
#     sh bootstrap.sh lock [--upgrade]
#     sh bootstrap.sh prove NAME
#
# It makes a private virtual environment for the tool (never the caller's), reuses it the next time,
# and hands its arguments on. "test" runs the tests, with --full all of them, in an environment that has
# the development tools too. "lock" writes requirements/*.txt after pyproject.toml, with --upgrade at the latest versions.
# "prove" builds a recipe, makes the whole proof of it, and installs nothing.
#
# An environment is named after what it is made from, and is never changed: when that changes, another one
# is made beside it, under a lock, and counts once it works. Which python3 comes first on PATH matters only
# then. Where that fails, for want of a network, one that was made before is used.
#
#   FASTINSTALL_BOOTSTRAP_PYTHON   the interpreter for the private environment (Python >= 3.11)
#   FASTINSTALL_HOME     where the private environments go
set -eu

case $(umask) in *[2367][2367]) ;; *) umask 022 ;; esac # nothing here is for others to change

checkout=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

say() { printf '%s\n' "fastinstall: $*" >&2; }
hint() { printf '  hint: %s\n' "$1" >&2; }
die() {
    say "$1"
    [ -z "${2-}" ] || hint "$2"
    exit "${3-5}"
}

private_directory() {
    if [ -n "${FASTINSTALL_HOME-}" ]; then
        printf '%s\n' "$FASTINSTALL_HOME"
    else
        [ -n "${XDG_DATA_HOME-}${HOME-}" ] ||
            die "there is no home directory: HOME is not set" "FASTINSTALL_HOME=DIR XDG_CACHE_HOME=DIR sh bootstrap.sh ..."
        data=${XDG_DATA_HOME:-$HOME/.local/share}
        printf '%s/fastinstall/tool-%s\n' "$data" "$(printf '%s' "$checkout" | cksum | cut -d ' ' -f 1)"
    fi
}

resolve() { # $1: a path, of which the end may not be there yet
    there=$1
    while [ ! -d "$there" ]; do
        there=${there%/*}
        there=${there:-/}
    done
    real=$(CDPATH='' cd -P -- "$there" 2>/dev/null && pwd -P) || real=$there
    printf '%s\n' "${real%/}${1#"${there%/}"}"
}

distrust() { # says who else chooses what is run from the private directory: who can write there, or to one above it
    set -- "$private"
    while [ "$1" != / ]; do
        above=${1%/*}
        set -- "${above:-/}" "$@"
    done
    # shellcheck disable=SC2012 # find has no format that POSIX knows
    # the owner of this checkout chooses what is run anyway; that of / is root, also where root has another number
    owners=" 0 $(id -u) $(LC_ALL=C ls -ldn / "$checkout" | while read -r _ _ owner _; do printf '%s ' "$owner"; done)"
    own= # the user's group, where its name says that nobody else is in it
    [ "$(id -gn 2>/dev/null)" != "$(id -un 2>/dev/null)" ] || own=$(id -g)
    closed=
    # shellcheck disable=SC2012 # find has no format that POSIX knows
    LC_ALL=C ls -ldn "$@" "$private"/fastinstall-* 2>/dev/null | while read -r mode _ owner group _ _ _ _ place; do
        case $owners in *" $owner "*) ;; *) printf '%s\n' "$place belongs to user $owner" && break ;; esac
        [ -z "$closed" ] || continue
        case $mode in
        d?????[-S]??[-T]*) closed=yes ;; # nobody else comes further
        d????????[tT]*) ;; # others add names there, and take none away
        d???????w*) printf '%s\n' "anybody may write to $place" && break ;;
        d????w*) [ "$group" = 0 ] || [ "$group" = "$own" ] || { printf '%s\n' "a group may write to $place" && break; } ;;
        esac
    done
}

stamp() { # of what decides an environment; of pyproject.toml only what is about the installation
    {
        printf '%s\n' "$checkout" "$version"
        sed -n -e '/^\[build-system/,/^$/p' -e '/^\[project/,/^$/p' "$checkout/pyproject.toml"
        cat "$checkout/requirements/$kind.txt"
    } | cksum | cut -d ' ' -f 1
}

recent() { # finished environments whose names begin so, last used first
    # shellcheck disable=SC2012 # the names are our own, and find cannot sort
    ls -t "$private/fastinstall-$1"-*/.made 2>/dev/null | sed 's,/\.made$,,'
}

first() { # of the environments on standard input, that of which a command is true
    while IFS= read -r each; do
        if "$@" "$each" </dev/null; then
            printf '%s\n' "$each"
            break
        fi
    done
}

works() { [ -x "$1/bin/python" ] && "$1/bin/python" -I -c 'import fastinstall' >/dev/null 2>&1; }

is_ready() { { [ -z "$named" ] || [ "$(cat "$1/.made")" = "$named" ]; } && works "$1"; }

find_ready() { # sets environment
    environment=$(recent "$kind-$stamp" | first is_ready)
    [ -n "$environment" ]
}

base_of() { # kind, minor version and path of the interpreter behind another one, which a virtual environment is made by
    "$1" -I -c '
import os, sys
if sys.version_info < (3, 11) or sys.implementation.name != "cpython":
    sys.exit(1)
is_conda = os.path.isdir(os.path.join(sys.base_prefix, "conda-meta"))
is_free_threaded = "t" in sys.abiflags
kind = "free-threaded" if is_free_threaded else "conda" if is_conda else "plain"
print(kind, sys.version_info[1], getattr(sys, "_base_executable", None) or sys.executable)
' 2>/dev/null </dev/null
}

newest_tested() { # the minor version of the latest Python that pyproject.toml names
    sed -n 's/^ *"Programming Language :: Python :: 3\.\([0-9]*\)",$/\1/p' "$checkout/pyproject.toml" | sort -n | tail -n 1
}

pythons() { # all that might do, the best first: what made the last environment may make the next one
    recent "$kind" | sed 's,$,/bin/python,'
    for name in python3 python3.13 python3.12 python3.11 python3.14 python3.15 python; do
        (
            IFS=:
            set -f
            for directory in $PATH; do
                case $directory in /*) [ ! -x "$directory/$name" ] || printf '%s\n' "$directory/$name" ;; esac
            done
        )
    done
}

find_python() { # one that is tested; among those, one of a conda environment, which may be removed any day, comes last
    newest=$(newest_tested)
    pythons | {
        conda='' later=''
        while IFS= read -r candidate; do
            found=$(base_of "$candidate") || continue
            path=${found#* * }
            minor=${found#* }
            minor=${minor%% *}
            # wheels are missing: of some packages for a version that is new, of those for abi3 without a GIL (PEP 703)
            if [ "$minor" -gt "${newest:-$minor}" ] || [ "${found%% *}" = free-threaded ]; then
                later=${later:-$path}
            elif [ "${found%% *}" = plain ]; then
                printf '%s\n' "$path"
                exit
            else
                conda=${conda:-$path}
            fi
        done
        printf '%s\n' "${conda:-$later}"
    }
}

lock() { # until this shell ends, however it does, or calls unlock; flock(1) is not everywhere, and Python is
    if ! mkdir -p "$private" || ! [ -w "$private" ]; then
        say "$private cannot be written"
        hint "choose other directories: FASTINSTALL_HOME=DIR XDG_CACHE_HOME=DIR sh bootstrap.sh ..."
        return 1
    fi
    exec 9>>"$private/lock"
    "$python" -I -c '
import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("fastinstall: another process prepares the private environment; waiting for it", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
'
}

unlock() { exec 9>&-; }

pip_install() { # bytecode is left to the first use of a module: most of them are never used
    # with --log, pip draws a bar for each file although it is to be quiet; its errors go to stderr
    "$environment/bin/python" -P -m pip --disable-pip-version-check --quiet --log "$environment/pip.log" install \
        --no-compile "$@" >/dev/null
}

install_locked() { # what requirements/$kind.txt says; for tests by uv, which is among it: 4 s where pip takes 80
    locked=$checkout/requirements/$kind.txt
    if [ "$kind" = test ]; then
        sed -n '/^uv==/,/^    # via/p' "$locked" >"$environment/uv.txt"
        pip_install --require-hashes --only-binary :all: --requirement "$environment/uv.txt" || return
        # pip.conf may name a certificate of the house, which uv does not read; the system knows it as a rule
        for trust in --no-system-certs --system-certs; do
            "$environment/bin/uv" --no-config "$trust" --quiet pip install --python "$environment/bin/python" \
                --require-hashes --only-binary :all: --requirement "$locked" 2>/dev/null && return
        done
    fi
    pip_install --require-hashes --only-binary :all: --requirement "$locked"
}

explain_failure() { # of pip, by its log: no wheel for this Python, or else the network or the disk
    absent=$(sed -n 's/.*No matching distribution found for \([^ ]*\).*/\1/p' "$environment/pip.log" 2>/dev/null | tail -n 1)
    if [ -n "$absent" ] && ! grep -q -e 'Retrying (' -e 'onnection error' -e 'ssl certificate' "$environment/pip.log"; then
        newest=$(newest_tested)
        say "pip found no wheel of $absent for $("$python" -I -c 'import platform, sys
kind = "free-threaded " if "t" in sys.abiflags else ""
print(kind + "Python", platform.python_version(), "on", platform.machine())')"
        hint "fastinstall is tested with Python 3.11 to 3.$newest; name one: \
FASTINSTALL_BOOTSTRAP_PYTHON=/path/to/python3.$newest sh bootstrap.sh ...; or another index: PIP_INDEX_URL=URL sh bootstrap.sh ..."
    else
        say "what fastinstall itself needs could not be installed"
        hint "pip's message stands above: is the package index reachable, and is there room? df -h $private"
    fi
}

make_environment() {
    sweep
    environment=$private/fastinstall-$kind-$stamp-$(date +%s)-$$
    size=''
    [ "$kind" != tool ] || size=', 35 MB to download'
    say "preparing a private environment in $private (once$size)"
    say "1 of 3: making the environment"
    { mkdir "$environment" && : >"$environment/.making"; } || return
    if ! "$python" -P -m venv "$environment" >&2; then
        say "$python could not make a virtual environment"
        if "$python" -I -c 'import ensurepip, venv' 2>/dev/null; then
            hint "is there room for it? df -h $private"
        else
            hint "on Debian and Ubuntu: apt-get install python3-venv"
        fi
    elif ! say "2 of 3: installing what fastinstall needs" || ! install_locked ||
        ! say "3 of 3: installing fastinstall" ||
        ! pip_install --no-deps --no-build-isolation --editable "$checkout" || ! works "$environment"; then
        explain_failure
    else
        printf '%s\n' "$python" >"$environment/.making"
        mv "$environment/.making" "$environment/.made"
        return
    fi
    rm -rf "$environment"
    return 1
}

sweep() { # what was never finished, and all but the last two that were used
    recent "$kind" | sed 1,2d | while IFS= read -r each; do mv "$each/.made" "$each/.making"; done
    for each in "$private"/fastinstall-*/.making; do [ ! -e "$each" ] || rm -rf "${each%/.making}"; done
}

is_of_version() {
    for metadata in "$1"/lib/python3*/site-packages/fastinstall-"$version".dist-info; do [ -d "$metadata" ]; done
}

can_stand_in() { is_of_version "$1" && works "$1"; }

fall_back() { # to an environment of the same version that was made from something else; $1: exit code if there is none
    environment=$({ recent "$kind" && if [ "$kind" = tool ]; then recent test; fi; } | first can_stand_in)
    if [ -n "$environment" ]; then
        say "warning: what this checkout requires has changed and could not be installed; $environment is used"
        return
    fi
    old=$({ recent tool && recent test; } | first works)
    die "there is no private environment for fastinstall $version" \
        "${old:+one for an earlier version still runs: $old/bin/fastinstall}" "$1"
}

get_environment() { # $1: tool, or test for one with the development tools as well; sets environment
    kind=$1
    stamp=$(stamp)
    if ! find_ready; then
        python=${named:-$(find_python)}
        if [ -z "$python" ]; then
            say "no Python 3.11 or later was found on PATH"
            hint "install one, or set FASTINSTALL_BOOTSTRAP_PYTHON=/path/to/python3.11"
            fall_back 5
        elif ! lock || ! { find_ready || make_environment; }; then
            fall_back 6
        fi
        unlock
    fi
    touch "$environment/.made" 2>/dev/null || : # says which ones are used
}

write_lock() { # $@: flags of uv
    uv=$(recent test | sed 's,$,/bin/uv,' | first test -x)
    if [ -z "$uv" ]; then
        get_environment test
        uv=$environment/bin/uv
    fi
    cd "$checkout"
    compile() {
        "$uv" --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
            --no-strip-extras --custom-compile-command 'sh bootstrap.sh lock' "$@" pyproject.toml
    }
    set -- "$@" --extra isa --extra conda --group backend
    compile "$@" --output-file requirements/tool.txt
    compile "$@" --output-file requirements/test.txt --group dev --constraint requirements/tool.txt
    compile --output-file requirements/with-tool.txt --constraint requirements/tool.txt # build --with-tool takes it along
}

private=$(private_directory)
case $private in /*) ;; *) private=$PWD/$private ;; esac
private=$(resolve "$private")
reason=$(distrust)
[ -z "$reason" ] || die "$private is not used: $reason, and what lies there would be run" \
    "choose another directory: FASTINSTALL_HOME=DIR sh bootstrap.sh ..."
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$checkout/fastinstall/__init__.py")
named=
if [ -n "${FASTINSTALL_BOOTSTRAP_PYTHON-}" ]; then
    named=$(base_of "$FASTINSTALL_BOOTSTRAP_PYTHON") ||
        say "warning: FASTINSTALL_BOOTSTRAP_PYTHON=$FASTINSTALL_BOOTSTRAP_PYTHON is no Python 3.11 or later; not used"
    named=${named#* * }
fi

called_as() { # what begins a command that is printed, as a shell takes it
    case $checkout in
    *[!A-Za-z0-9_./+,:@%-]*) printf "sh '%s'\n" "$(printf '%s' "$checkout/bootstrap.sh" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s\n' "sh $checkout/bootstrap.sh" ;;
    esac
}

case ${1-} in
test)
    shift
    get_environment test
    cd "$checkout"
    exec "$environment/bin/python" tests/run.py "$@"
    ;;
lock)
    shift
    write_lock "$@"
    ;;
prove)
    shift
    get_environment tool
    exec "$environment/bin/python" -P -m whole_proof "$@"
    ;;
*)
    get_environment tool
    exec "$environment/bin/python" -P -X fastinstall-program="$(called_as)" -m fastinstall "$@"
    ;;
esac
