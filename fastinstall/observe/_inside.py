"""Print facts about the interpreter that runs this script, as one line of JSON. The target's Python runs it.

Run as `PYTHON -I -S -B`. With `-S`, Python does not import `site`: it starts in a fraction of the time and runs no
`.pth` file. With `-B`, it writes no bytecode. The script first sets `sys.prefix` as `site` does for a virtual
environment (PEP 405). In programs, some entries of sys.path precede site-packages (PYTHONPATH, the user site). `-I`
hides these entries, so the script derives them from variables and files. The script uses only the standard library, for
Python 3.7 to 3.14, CPython and PyPy.
"""

# ruff: noqa: PTH100, PTH109, PTH110, PTH112, PTH113, PTH117, PTH118, PTH120, PTH208 (importing pathlib takes longer)

from __future__ import annotations

import json
import os
import stat
import sys

MARKER = "fastinstall.interpreter/1"
LARGEST_PTH = 1 << 16  # bytes


def enter_environment() -> None:
    """If this interpreter is in a virtual environment, set `sys.prefix` to that environment, as `site` does."""
    if sys.prefix != sys.base_prefix:
        return
    here = os.path.dirname(os.path.abspath(sys.executable))
    for directory in (here, os.path.dirname(here)):
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            sys.prefix = sys.exec_prefix = os.path.dirname(here)
            return


def describe() -> dict[str, object]:
    """Return the fields of `fastinstall.model.facts.Interpreter`."""
    import sysconfig  # imported late, because it reads sys.prefix on import

    implementation = sys.implementation.name
    include = sysconfig.get_path("include")
    libc, libc_version = _detect_libc()
    managed = _find_marker(sysconfig.get_path("stdlib"))
    site_packages = _find_site_packages(sysconfig.get_path("platlib"), managed)
    return {
        "executable": sys.executable,
        "implementation": implementation,
        "version": ".".join(str(part) for part in sys.version_info[:3]) + _stage(),
        "abi": _derive_abi(implementation, sysconfig.get_config_var("SOABI") or ""),
        "platform": sysconfig.get_platform(),
        "libc": libc,
        "libc_version": libc_version,
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "extension_suffix": sysconfig.get_config_var("EXT_SUFFIX") or "",
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "site_packages": site_packages,
        "include": include,
        "has_headers": os.path.isfile(os.path.join(include, "Python.h")),
        "cflags": sysconfig.get_config_var("CFLAGS") or "",
        "externally_managed": managed,
        "pip_version": _find_pip_version(sysconfig.get_path("purelib"), sysconfig.get_path("platlib")),
        "shadows": list(find_shadows(site_packages)),
    }


def _stage() -> str:
    """Return the pre-release part of Python's version ("rc1"); empty for a final release."""
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(sys.version_info.releaselevel, "")
    return level + str(sys.version_info.serial) if level else ""


def _derive_abi(implementation: str, soabi: str) -> str:
    """Return the ABI tag of PEP 425; PyPy's is derived from its SOABI ("pypy310-pp73")."""
    if implementation == "cpython":
        return "cp{}{}{}".format(sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    return "_".join(soabi.split("-")[:2])


def _detect_libc() -> tuple[str, str]:
    """Return the C library's name and version, each empty if unknown. musl is recognised by its loader in /lib."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        name, version = "", ""
    if name:
        return name, version
    found = any(entry.startswith("ld-musl-") for entry in _list_directory("/lib"))
    return ("musl" if found else ""), ""


def _find_marker(stdlib: str) -> str | None:
    """Return the path of PEP 668's marker file; None if there is none, or if this is a virtual environment."""
    marker = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    return marker if sys.prefix == sys.base_prefix and os.path.isfile(marker) else None


def _find_site_packages(platlib: str, managed: str | None) -> str:
    """Return the directory into which distributions are installed.

    Debian's own Python has several such directories: pip and Debian's packages use different ones. For a Python that
    the system manages, return the one that contains PIL, or `platlib` if none does.
    """
    if managed is None or os.path.isdir(os.path.join(platlib, "PIL")):
        return platlib
    import site  # imported late, because it is rarely needed

    holding = (entry for entry in site.getsitepackages() if os.path.isdir(os.path.join(entry, "PIL")))
    return next(holding, platlib)


def _find_pip_version(*directories: str) -> str | None:
    for directory in directories:
        for entry in _list_directory(directory):
            name, _, rest = entry.partition("-")
            if name == "pip" and rest.endswith((".dist-info", ".egg-info")):
                return rest.rpartition(".")[0]
    return None


def find_shadows(site_packages: str) -> list[dict[str, str]]:
    """List each PIL that programs import instead of the one in site-packages, with the reason why it comes first.

    Nothing is imported: the import system's own finder looks for PIL.

    Returns:
        The fields of a `fastinstall.model.facts.ShadowingPil` for each such PIL.
    """
    in_front = [part for part in list_entries_in_front() if _may_have_pil(part["entry"])]
    if not in_front:
        return []
    from importlib.machinery import PathFinder  # imported late, because it is rarely needed

    own, shadows = os.path.realpath(os.path.join(site_packages, "PIL")), []
    for number, part in enumerate(in_front):
        # Search the later entries too: Python prefers a later PIL that has an `__init__.py` to an earlier PIL that has
        # none.
        path = [each["entry"] for each in in_front[number:]] + [site_packages]
        location = get_location(PathFinder.find_spec("PIL", path))
        real = os.path.realpath(location)
        if location.startswith(part["entry"].rstrip(os.sep) + os.sep) and own not in (real, os.path.dirname(real)):
            shadows.append({**part, "location": location})
    return shadows


def get_location(spec: object) -> str:
    """Return the file in a module's spec, or the first directory of a namespace package; empty if it has neither."""
    origin = getattr(spec, "origin", None)
    if origin and origin != "namespace":
        return str(origin)
    return next(iter(getattr(spec, "submodule_search_locations", None) or ()), "")


def list_entries_in_front() -> list[dict[str, str]]:
    """List the entries that precede site-packages in a program's sys.path, as fields of `ShadowingPil`.

    Source: Python's documentation of `sys.path`, of the module `site` and of its environment variables.
    """
    here, variables = _get_working_directory(), os.environ
    entries = []
    if here and not variables.get("PYTHONSAFEPATH"):
        entries.append({"source": "working-directory", "entry": here})
    named = variables.get("PYTHONPATH", "")
    words = named.split(os.pathsep) if named else []
    for word in words:
        if here or os.path.isabs(word):
            remaining = os.pathsep.join(each for each in words if each != word)
            entry = os.path.normpath(os.path.join(here, word))
            entries.append({"source": "PYTHONPATH", "entry": entry, "remaining": remaining})
    # In a virtual environment, the user site is either disabled or comes after site-packages (PEP 405).
    is_private = os.geteuid() == os.getuid() and os.getegid() == os.getgid()
    if sys.prefix == sys.base_prefix and is_private and not variables.get("PYTHONNOUSERSITE"):
        entries += _list_user_site()
    return entries


def _list_user_site() -> list[dict[str, str]]:
    """List the user site and the directories that its `.pth` files add; see `list_entries_in_front`."""
    import sysconfig  # imported late, because it reads sys.prefix on import

    user_site = sysconfig.get_path("purelib", "posix_user")
    if not os.path.isdir(user_site):
        return []
    entries = [{"source": "user-site", "entry": user_site}]
    for name in _list_directory(user_site):
        if name.endswith(".pth") and not name.startswith("."):
            pth = os.path.join(user_site, name)
            for line in _read_lines(pth):
                if line.strip() and not line.startswith(("#", "import ", "import\t")):
                    entry = os.path.normpath(os.path.join(user_site, line.strip()))
                    entries.append({"source": "user-site", "entry": entry, "origin": pth})
    return entries


def _read_lines(path: str) -> list[str]:
    """Return the lines of a file; empty if it is unreadable, large, or not a regular file."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_PTH:
                return stream.read(LARGEST_PTH).decode("utf-8-sig", "surrogateescape").splitlines()
    except OSError:  # the file cannot be read, or is a directory
        pass
    return []


def _get_working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _may_have_pil(entry: str) -> bool:
    """Return whether an entry of sys.path is a file (an archive), or a directory with something named like PIL."""
    import _imp  # importing all of `importlib` would take a millisecond

    names = ("PIL", "PIL.py", "PIL.pyc", *("PIL" + suffix for suffix in _imp.extension_suffixes()))
    return os.path.isfile(entry) or any(os.path.exists(os.path.join(entry, name)) for name in names)


def _list_directory(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


if __name__ == "__main__":
    enter_environment()
    sys.stdout.write(json.dumps({"schema": MARKER, "interpreter": describe()}) + "\n")
