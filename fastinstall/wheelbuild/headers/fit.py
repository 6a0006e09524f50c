"""Whether fetched C headers describe what the core is linked to: the official wheel's libraries, and this very Python.

Headers of the machine are not looked at: whoever installed them chose them.
"""

from collections.abc import Iterator

from fastinstall.core.errors import FailedError
from fastinstall.core.messages import listing
from fastinstall.core.parsing import json_data
from fastinstall.core.process import run
from fastinstall.index.header_packages import read_header_packages
from fastinstall.wheelbuild.build_inputs import BuildRequest

_MACROS = (
    *("SIZEOF_LONG", "SIZEOF_LONG_LONG", "SIZEOF_VOID_P", "SIZEOF_SIZE_T", "SIZEOF_OFF_T", "SIZEOF_TIME_T"),
    *("SIZEOF_WCHAR_T", "Py_DEBUG", "Py_TRACE_REFS", "Py_GIL_DISABLED"),
)
"""What lays out Python's structures; the rest of pyconfig.h says what the C library has."""

_PROGRAM = f"""\
import json, sys, sysconfig
found = {{name: sysconfig.get_config_var(name) for name in {_MACROS!r}}}
found["PY_MINOR_VERSION"], found["PYLONG_BITS_IN_DIGIT"] = sys.version_info[1], sys.int_info.bits_per_digit
print(json.dumps(found))
"""
"""sysconfig keeps what the interpreter's own pyconfig.h said, even where that file is not installed."""

_SECONDS = 60.0


def refuse_misfit(request: BuildRequest, name: str, file: str) -> None:
    """Raise if fetched headers are for another version of a library than the official wheel has.

    Args:
        name: the recipe's name of the library.
        file: of the library: "libtiff-32d42e18.so.6.2.0".

    Raises:
        FailedError: they are.
    """
    package = read_header_packages().packages.get(name)
    if package is None or package.sha256 not in {each.sha256 for each in request.header_packages}:
        return
    if not f"{file.partition('.so.')[2]}.".startswith(f"{package.bundled}."):
        raise FailedError(
            f"the official wheel has {file}, and the C headers of {name} that fastinstall fetches are for "
            f".so.{package.bundled}",
            hint="install headers of that version, or choose an earlier version: --version V",
        )


def refuse_other_python(request: BuildRequest, macros: dict[str, str]) -> None:
    """Raise if fetched headers are for another build of Python than the interpreter.

    Args:
        macros: that the headers define, by name; empty if they do not.

    Raises:
        FailedError: they are.
    """
    problems = tuple(_list_differences(request, macros))
    if problems:
        raise FailedError(
            f"the C headers that fastinstall fetches are not for {request.interpreter.executable}: {listing(problems)}",
            hint="install this Python's own C headers, or use another Python",
        )


def list_python_macros() -> tuple[str, ...]:
    """Return the macros that `refuse_other_python` compares."""
    return (*_MACROS, "PY_MINOR_VERSION", "PYLONG_BITS_IN_DIGIT")


def _list_differences(request: BuildRequest, macros: dict[str, str]) -> Iterator[str]:
    argv = (str(request.interpreter.executable), "-I", "-S", "-c", _PROGRAM)
    own = json_data(run(argv, environment=request.variables, timeout=_SECONDS).stdout)
    for name, found in macros.items():
        expected = str(own[name] or "")
        if found != expected:
            yield f"{name} is {expected or 'undefined'}, not {found or 'undefined'}"
