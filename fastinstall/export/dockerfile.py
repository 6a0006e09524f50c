"""A Dockerfile or a shell script from a plan for elsewhere. Pure.

- The Dockerfile has a builder stage that compiles, and a final stage that does not. It uses only what every builder
  understands: no cache mount, no here-document, no flag of an instruction but `COPY --from`. Source: the Dockerfile
  reference; the annotations of the OCI image specification.
- The script is POSIX sh for cloud-init, Packer and prologues of jobs, and can be run any number of times. Source:
  POSIX.1-2017, Shell Command Language; what dash and bash both do.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.core.messages import quote
from fastinstall.doctor.registry import verifying_checks
from fastinstall.export.plan_elsewhere import PlanExport, Wheelhouse
from fastinstall.model.request import Risk

_EPOCH = 315532800  # 1980-01-01, the first day that a zip archive can hold
_USER = "10001:10001"
_TOOL = quote("/opt/fastinstall")
_APART = "# The tool, in an environment of its own that stays behind."
_PROGRAM = f"{_TOOL}/bin/fastinstall"
_WHEELS = quote("/wheelhouse")
_MORE = " \\\n    "
_DEEPER = f"{_MORE}    "
_UNPLANNED = '|| { echo "it was not made from ${each}: make this file again" >&2; exit 1; }; done'
_AND = f"{_MORE}&& "


def dockerfile(export: PlanExport, wheelhouse: str = "") -> str:
    """The text of the file.

    Args:
        export: what was decided.
        wheelhouse: its directory relative to the build's context; empty where there is none.
    """
    parts = (
        _write_head(export),
        _write_builder(export, wheelhouse),
        _write_environment(export),
        _write_final_stage(export),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _write_head(export: PlanExport) -> Iterator[str]:
    yield f"# {export.distribution} {export.version} for Python {export.python}."
    yield f"# Made by: {export.command}"
    yield "#"
    yield "#     docker build --platform linux/amd64 --tag fast-images ."
    yield "#"
    yield "# A tag moves; what it points to today has a digest, and with it a rebuild begins from the same files:"
    yield "#     --build-arg PYTHON_IMAGE=python@sha256:..."
    yield ""
    yield f"ARG PYTHON_IMAGE=python:{export.python}-slim-bookworm"
    yield ""


def _write_builder(export: PlanExport, wheelhouse: str) -> Iterator[str]:
    yield "FROM ${PYTHON_IMAGE} AS builder"
    yield "# The tool, and an index other than the public one."
    yield f"ARG FASTINSTALL={export.tool.requirement}"
    yield "ARG PIP_INDEX_URL"
    yield "# No file bears the time of the build, where that can be had."
    yield f"ARG SOURCE_DATE_EPOCH={_EPOCH}"
    yield _MORE.join(("ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH}", "PIP_NO_CACHE_DIR=1"))
    yield ""
    yield from (
        _from_wheelhouse(export, export.wheelhouse, wheelhouse) if export.wheelhouse else _write_compile_stage(export)
    )


def _from_wheelhouse(export: PlanExport, there: Wheelhouse, wheelhouse: str) -> Iterator[str]:
    yield "# Made by: fastinstall build -o DIR --with-tool"
    yield f"ARG WHEELHOUSE={wheelhouse}"
    yield f"COPY ${{WHEELHOUSE}} {_WHEELS}"
    yield "# What was planned is what lies there."
    yield f"ARG WHEEL_SHA256={there.wheel.sha256}"
    sums = f'RUN echo "${{WHEEL_SHA256}}  {_WHEELS}/{there.wheel.filename}" > /tmp/SHA256SUMS'
    yield _AND.join((sums, "sha256sum --check --quiet /tmp/SHA256SUMS"))
    yield ""
    yield from _write_tool_of_wheelhouse() if there.has_tool else _write_tool(export)


def _write_compile_stage(export: PlanExport) -> Iterator[str]:
    if export.packages:
        yield "# Debian keeps no earlier versions of its packages, so a version here would soon be a build that fails."
        yield "# hadolint ignore=DL3008"
        install = _DEEPER.join(("apt-get install --yes --no-install-recommends", *_wrap_words(export.packages)))
        yield _AND.join(("RUN apt-get update", install, "rm -rf /var/lib/apt/lists/*"))
        yield ""
    yield from _write_tool(export)
    yield "# Compiled and proven; the same inputs give the same bytes."
    command = f"RUN {_PROGRAM} build --quiet -o {_WHEELS} --python python3"
    yield _MORE.join((command, *_pair_flags(_select_build_flags(export))))
    yield ""


def _write_tool(export: PlanExport) -> Iterator[str]:
    yield _APART
    install = f'{_TOOL}/bin/python -m pip install --quiet --no-compile "${{FASTINSTALL}}"'
    yield _AND.join((f"RUN python3 -m venv {_TOOL}", _DEEPER.join((install, *_wrap_words(export.tool.pins)))))
    yield ""


def _write_tool_of_wheelhouse() -> Iterator[str]:
    """By the pip that lies there, run as it is: the base image need not have one."""
    yield _APART
    install = f'python3 -I "${{1}}/pip" --python {_TOOL}/bin/python install --quiet --no-compile'
    wanted = f'--no-index --find-links {_WHEELS}/tool "${{FASTINSTALL}}"'
    made = (f"RUN set -- {_WHEELS}/tool/pip-*.whl", f"python3 -m venv --without-pip {_TOOL}")
    yield _AND.join((*made, _DEEPER.join((install, wanted))))
    yield ""


def _write_environment(export: PlanExport) -> Iterator[str]:
    prefix = quote(export.prefix)
    yield "# The environment, with what else is to be in it, as pip takes it: PACKAGES='torch==2.9.1 torchvision'."
    yield 'ARG PACKAGES=""'
    install = f"xargs --no-run-if-empty {prefix}/bin/python -m pip install --quiet < /tmp/packages.txt"
    yield _AND.join((f"RUN python3 -m venv {prefix}", 'echo "${PACKAGES}" > /tmp/packages.txt', install))
    yield ""
    if export.sources:
        yield "# What it has to be made from, by sha256; with SOURCES='' it may be whatever is the newest by then:"
        yield from (f"#   {each.filename}" for each in export.sources)
        yield f'ARG SOURCES="{_MORE.join(each.sha256 for each in export.sources)}"'
    yield "# The last line takes away what was moved aside for a rollback, which nobody makes in an image."
    yield f"RUN {_AND.join(_set_up(export, prefix))}"
    yield ""


def _set_up(export: PlanExport, prefix: str) -> Iterator[str]:
    """The commands that put the stack in, and look whether it is what was planned."""
    offline = f"{_PROGRAM} setup --yes --quiet --offline --wheelhouse {_WHEELS} --prefix {prefix}"
    yield _DEEPER.join((offline, *_pair_flags(export.flags)))
    if export.sources:
        inside = f"{prefix}/lib/python{export.python}/site-packages"
        metadata = f"{export.distribution.replace('-', '_')}-{export.version}.dist-info"
        told = f'grep --quiet "${{each}}" {inside}/{metadata}/fastinstall.json'
        yield _DEEPER.join(("for each in ${SOURCES}; do", told, _UNPLANNED))
    yield f"{_PROGRAM} doctor --quiet {_choose_checks(export)} --prefix {prefix}"
    yield f"rm -r {prefix}/share/fastinstall/tx"


def _choose_checks(export: PlanExport) -> str:
    """What doctor is asked; where vulnerabilities were accepted, they fail nothing."""
    if Risk.VULNERABLE in export.wish.allow:
        return f"--fail-on error {' '.join(verifying_checks())}"
    return "--fail-on warning"


def _write_final_stage(export: PlanExport) -> Iterator[str]:
    prefix = export.prefix
    yield "FROM ${PYTHON_IMAGE}"
    yield f"LABEL {_MORE.join(_list_labels(export))}"
    yield f"COPY --from=builder {prefix} {prefix}"
    yield _MORE.join((f"ENV PATH={prefix}/bin:${{PATH}}", *_write_pin_lines(export, prefix)))
    yield f"USER {_USER}"
    yield 'CMD ["python3"]'


def _list_labels(export: PlanExport) -> Iterator[str]:
    yield f'org.opencontainers.image.title="{export.distribution} {export.version}"'
    yield f'org.opencontainers.image.description="Pillow with SIMD kernels for Python {export.python}"'
    yield 'org.opencontainers.image.licenses="MIT-CMU"'
    yield f'fastinstall.recipe="{export.wish.recipe}"'
    yield f'fastinstall.version="{export.tool.requirement.rpartition("=")[2]}"'


def _write_pin_lines(export: PlanExport, prefix: PurePath) -> Iterator[str]:
    """What holds uv to the stack, which reads no pip.conf."""
    if export.wish.pin:
        yield f"UV_CONSTRAINT={prefix}/share/fastinstall/pin/constraints.txt"
        yield f"UV_FIND_LINKS={prefix}/share/fastinstall/pin/wheels"


def _select_build_flags(export: PlanExport) -> tuple[str, ...]:
    """Without what is of an environment."""
    return tuple(word for word in export.flags if word not in ("--pin", "--no-guard"))


def _pair_flags(words: Iterable[str]) -> Iterator[str]:
    """A flag with its value, for a line each."""
    line = ""
    for word in words:
        if word.startswith("--") and line:
            yield line
            line = ""
        line = f"{line} {quote(word)}".strip()
    if line:
        yield line


def _wrap_words(words: Iterable[str], width: int = 100) -> Iterator[str]:
    """Words side by side, in lines that can be read."""
    line = ""
    for word in words:
        if line and len(line) + len(word) >= width:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line


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


def script(export: PlanExport) -> str:
    """The text of the script."""
    absolute = _ABSOLUTE if export.wheelhouse is not None else ""
    main = _MAIN.replace("@WHEELHOUSE@", absolute).replace("@FLAGS@", _format_flags_of_setup(export))
    return _format_settings(export) + _FUNCTIONS.replace("@MAKE@", _write_tool_environment(export)) + main


def _format_settings(export: PlanExport) -> str:
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


def _write_tool_environment(export: PlanExport) -> str:
    """How the tool's environment is made: the wheelhouse has pip too, and then Python needs none of its own."""
    there = export.wheelhouse is not None and export.wheelhouse.has_tool
    return (_BY_WHEELHOUSE if there else _BY_INDEX).strip("\n")


def _format_flags_of_setup(export: PlanExport) -> str:
    words = " ".join(quote(word) for word in export.flags)
    return f'--offline --wheelhouse "$wheelhouse" {words}' if export.wheelhouse is not None else words
