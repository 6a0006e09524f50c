"""A script from a plan for elsewhere, for cloud-init, Packer and prologues of jobs: POSIX sh, run any number of times.

Pure. Source: POSIX.1-2017, Shell Command Language; what dash and bash both do.
"""

from fastinstall.model.export import Export
from fastinstall.rules.messages import quote

_SETTINGS = """\
#!/bin/sh
# {distribution} {version} for Python {python}, set up on this machine.
# Made by: {command}
#
# Run it as often as you like: a second run changes nothing, asks no network, and takes a fraction of a second.
# Several at once are safe. Everything is said on stderr.
#
#   FASTINSTALL_PREFIX       the environment, made where it is missing    {prefix}
#   FASTINSTALL_PYTHON       the Python that it is made of                {python_program}
{wheelhouse_setting}\
#   FASTINSTALL_REQUIREMENT  the tool, as pip takes it                    {requirement}
#   FASTINSTALL_TOOL_HOME    where the tool and its lock lie              ~/.local/share/fastinstall/script
#   FASTINSTALL_CACHE_DIR    what can be made again                       ~/.cache/fastinstall
#   FASTINSTALL_BOOTSTRAP_PYTHON  the Python (3.11 or later) that the tool is installed with
#
# Exit codes: 0 done, or nothing to do; 5 refused, nothing was changed; 6 failed, the environment is as it was;
# 7 failed, and it is not; the others stand in fastinstall's reference.
set -eu

prefix=${{FASTINSTALL_PREFIX:-{quoted_prefix}}}
python=${{FASTINSTALL_PYTHON:-{python_program}}}
{wheelhouse_line}\
requirement=${{FASTINSTALL_REQUIREMENT:-'{requirement}'}}
pins='
{pins}
'
"""

_FUNCTIONS = r"""
say() { printf '%s\n' "fastinstall: $*" >&2; }
die() { # $1: what is wrong, $2: what to do, $3: exit code
    say "error: $1"
    printf '  hint: %s\n' "$2" >&2
    exit "${3-5}"
}

find_python() { # prints the version that the tool will run on, and its path
    for candidate in ${FASTINSTALL_BOOTSTRAP_PYTHON:+"$FASTINSTALL_BOOTSTRAP_PYTHON"} "$python" python3 \
        python3.14 python3.13 python3.12 python3.11 python; do
        "$candidate" -I -c 'if 1:
            import sys
            if sys.version_info < (3, 11) or sys.implementation.name != "cpython": sys.exit(1)
            print(sys.version.split()[0], sys.executable)' 2>/dev/null && return
    done
    die 'no Python 3.11 or later was found on PATH' \
        'install one, or set FASTINSTALL_BOOTSTRAP_PYTHON=/path/to/python3.11'
}

absolute() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$PWD/$1" ;; esac }

digest() { cksum | tr ' ' -; }

tool() { "$private/bin/python" -P -m fastinstall "$@" >&2; }

is_done() { # this very wish was carried out here, and nothing has come in its place since
    [ -e "$private/made" ] && [ -s "$note" ] && [ -e "$receipt" ] &&
        [ "$(cat "$note")" = "$(digest <"$receipt")" ] &&
        tool doctor swapped pillow-files pillow-owner interrupted guards --quick --quiet --prefix "$prefix" 2>/dev/null
}

make_tool() {
    say "preparing the tool in $private (once)"
@MAKE@
    : >"$private/made"
}
"""

_MAIN = r"""
found=$(find_python)
bootstrap=${found#* }
if [ -z "${HOME-}" ]; then # as in cloud-init
    HOME=$("$bootstrap" -I -c 'import os, pwd; print(pwd.getpwuid(os.getuid()).pw_dir)' 2>/dev/null) ||
        HOME=${FASTINSTALL_TOOL_HOME-}
    [ -n "$HOME" ] || die 'HOME is not set, and this user has none' 'set HOME or FASTINSTALL_TOOL_HOME'
fi
export HOME
prefix=$(absolute "$prefix")
case $python in */*) python=$(absolute "$python") ;; esac
@WHEELHOUSE@home=${FASTINSTALL_TOOL_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/fastinstall/script}
case $(umask) in *[2367]) ;; *) umask 022 ;; esac # nothing here is for everybody to change
mkdir -p "$home" || die "$home cannot be made" 'set FASTINSTALL_TOOL_HOME to a directory that can be written to'
home=$(CDPATH='' cd -- "$home" && pwd -P)
private=$home/tool-$(printf '%s\n' "$found" "$requirement" "$pins" | digest)
receipt=$prefix/share/fastinstall/receipt.json
set -- @FLAGS@
note=$home/done-$(printf '%s\n' "$prefix" "$private" "$@" | digest)
cd "$home" # no fastinstall.toml of somewhere else counts

if is_done; then exit 0; fi

[ -w "$home" ] || die "$home cannot be written to" 'set FASTINSTALL_TOOL_HOME to a directory that can'
# Held until this script and what it has started end, however they do. flock(1) is not everywhere, and Python is.
exec 9>"$home/lock"
"$bootstrap" -I -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' ||
    die "$home/lock cannot be locked" 'set FASTINSTALL_TOOL_HOME to a directory of a local disk'
[ -e "$private/made" ] || make_tool
if is_done; then exit 0; fi # by the one that was waited for

if [ -e "$prefix/pyvenv.cfg" ]; then
    set -- --prefix "$prefix" "$@"
else
    set -- --new-env "$prefix" --python "$python" "$@"
fi
code=0
tool setup --yes "$@" || code=$?
[ "$code" -ne 0 ] || digest <"$receipt" >"$note"
exit "$code"
"""

_WHEELHOUSE_SETTING = "#   FASTINSTALL_WHEELHOUSE   where the wheel lies                         {directory}\n"
_ABSOLUTE = 'wheelhouse=$(absolute "$wheelhouse")\n'
_BY_INDEX = r"""
    "$bootstrap" -P -m venv --clear "$private" ||
        die "$bootstrap could not make a virtual environment" 'on Debian and Ubuntu: apt-get install python3-venv' 6
    # The words are requirements, which have no blanks in them.
    # shellcheck disable=SC2086
    "$private/bin/python" -P -m pip --disable-pip-version-check --quiet install --no-compile \
        "$requirement" $pins >&2 ||
        die 'the tool could not be installed' "is the package index reachable? pip's message stands above" 6
"""
_BY_WHEELHOUSE = r"""
    "$bootstrap" -P -m venv --clear --without-pip "$private" ||
        die "$bootstrap could not make a virtual environment" 'on Debian and Ubuntu: apt-get install python3-venv' 6
    for pip in "$wheelhouse"/tool/pip-*.whl; do break; done # run as it lies there
    "$bootstrap" -I "$pip/pip" --disable-pip-version-check --quiet --python "$private/bin/python" install --no-compile \
        --no-index --find-links "$wheelhouse/tool" "$requirement" >&2 ||
        die "the tool could not be installed from $wheelhouse/tool" \
            'look whether it is whole: sha256sum --check SHA256SUMS' 6
"""


def script(export: Export) -> str:
    """The text of the script."""
    absolute = _ABSOLUTE if export.wheelhouse is not None else ""
    main = _MAIN.replace("@WHEELHOUSE@", absolute).replace("@FLAGS@", _flags(export))
    return _settings(export) + _FUNCTIONS.replace("@MAKE@", _made(export)) + main


def _settings(export: Export) -> str:
    there = export.wheelhouse
    line = f"wheelhouse=${{FASTINSTALL_WHEELHOUSE:-{quote(there.directory)}}}\n" if there else ""
    return _SETTINGS.format(
        distribution=export.distribution,
        version=export.version,
        python=export.python,
        command=export.command,
        prefix=export.prefix,
        quoted_prefix=quote(export.prefix),
        python_program=f"python{export.python}",
        requirement=export.tool.requirement,
        wheelhouse_setting=_WHEELHOUSE_SETTING.format(directory=there.directory) if there else "",
        wheelhouse_line=line,
        pins="\n".join(export.tool.pins),
    )


def _made(export: Export) -> str:
    """How the tool's environment is made: the wheelhouse has pip too, and then Python needs none of its own."""
    there = export.wheelhouse is not None and export.wheelhouse.has_tool
    return (_BY_WHEELHOUSE if there else _BY_INDEX).strip("\n")


def _flags(export: Export) -> str:
    words = " ".join(quote(word) for word in export.flags)
    return f'--offline --wheelhouse "$wheelhouse" {words}' if export.wheelhouse is not None else words
