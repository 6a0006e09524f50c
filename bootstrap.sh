#!/bin/sh
# Runs fastinstall from this checkout on a machine that has nothing of it:
#
#     sh bootstrap.sh setup --yes --new-env ./fast-env
#     sh bootstrap.sh test
#
# It makes a private virtual environment for the tool (never the caller's), reuses it the next time,
# and hands its arguments on. "test" adds the development tools there and runs the whole test suite.
#
#   FASTINSTALL_BOOTSTRAP_PYTHON   the interpreter for the private environment (Python >= 3.11)
#   FASTINSTALL_HOME     where the private environment goes
set -eu

case $(umask) in *[2367]) ;; *) umask 022 ;; esac # nothing here is for everybody to change

checkout=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

say() { printf '%s\n' "fastinstall: $*" >&2; }
die() {
    say "$1"
    [ -z "${2-}" ] || printf '  hint: %s\n' "$2" >&2
    exit "${3-5}"
}

find_python() {
    for candidate in ${FASTINSTALL_BOOTSTRAP_PYTHON:+"$FASTINSTALL_BOOTSTRAP_PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 python; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11) or sys.implementation.name != "cpython")' \
            >/dev/null 2>&1 || continue
        command -v "$candidate"
        return
    done
    die "no Python 3.11 or later was found on PATH" "install one, or set FASTINSTALL_BOOTSTRAP_PYTHON=/path/to/python3.11"
}

private_directory() {
    if [ -n "${FASTINSTALL_HOME-}" ]; then
        printf '%s\n' "$FASTINSTALL_HOME"
    else
        data=${XDG_DATA_HOME:-${HOME:?set HOME or FASTINSTALL_HOME}/.local/share}
        printf '%s/fastinstall/tool-%s\n' "$data" "$(printf '%s' "$checkout" | cksum | cut -d ' ' -f 1)"
    fi
}

stamp_of() { # what the private environment was made from
    { printf '%s\n' "$checkout" "$1"; cat "$checkout/pyproject.toml"; } | cksum
}

pip_install() { # bytecode is left to the first use of a module: most of them are never used
    "$private/bin/python" -P -m pip --disable-pip-version-check --quiet install --no-compile "$@"
}

make_private_environment() { # $1: the interpreter, $2: the stamp
    say "preparing a private environment in $private (once)"
    rm -f "$private/.fastinstall-stamp" "$private/.fastinstall-test-stamp"
    "$1" -P -m venv --clear "$private" ||
        die "$1 could not make a virtual environment" "on Debian and Ubuntu: apt-get install python3-venv" 6
    pip_install --editable "${checkout}[isa,conda]" >&2 ||
        die "fastinstall's own dependencies could not be installed" "is the package index reachable? pip's message stands above" 6
    printf '%s\n' "$2" >"$private/.fastinstall-stamp"
    say "where a command says 'fastinstall', type 'sh $0', or: alias fastinstall='$private/bin/fastinstall'"
}

add_test_tools() { # $1: the stamp
    [ "$(cat "$private/.fastinstall-test-stamp" 2>/dev/null)" = "$1" ] && return
    say "adding the development tools"
    pip_install --group "$checkout/pyproject.toml:dev" >&2 ||
        die "the development tools could not be installed" "is the package index reachable? pip's message stands above" 6
    printf '%s\n' "$1" >"$private/.fastinstall-test-stamp"
}

python=$(find_python)
private=$(private_directory)
stamp=$(stamp_of "$python")
if [ "$(cat "$private/.fastinstall-stamp" 2>/dev/null)" != "$stamp" ] || [ ! -x "$private/bin/python" ]; then
    make_private_environment "$python" "$stamp"
fi

if [ "${1-}" = test ]; then
    shift
    add_test_tools "$stamp"
    cd "$checkout"
    exec "$private/bin/python" tests/run.py "$@"
fi
exec "$private/bin/python" -P -m fastinstall "$@"
