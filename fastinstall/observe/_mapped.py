"""List the files that this process has mapped, and find the one that holds the running core.

Runs inside the target, never in the tool. Standard library only, for Python 3.7 to 3.14.
"""

# ruff: noqa: PTH109, PTH118, PTH121 (importing pathlib takes time that doctor waits for)

from __future__ import annotations

import os


def mapped_files() -> list[str]:
    """List the program and its shared objects, each once, from the loader's list.

    Returns:
        Paths as the loader names them, in its order, with `..` resolved if that names the same file. Empty if the list
        cannot be read.
    """
    try:
        names = _list_loaded_objects()
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without the function)
        names = []
    return list(dict.fromkeys(_tidy(name) for name in names if "/" in name))


def core_file(module: str) -> str:
    """Find the file with the running core's code; the module's own file may be a stub that selects one of several.

    Args:
        module: path of the module `PIL._imaging`, from its `__file__`.

    Returns:
        Its real path; empty if unknown.
    """
    try:
        return _find_entry_file(module)
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without dladdr)
        return ""


def _find_entry_file(module: str) -> str:
    """Return the file that holds the module's entry point. Source: dladdr(3)."""
    import ctypes  # noqa: PLC0415 (not every interpreter has it)

    class Information(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("address", ctypes.c_void_p),
        )

    entry = ctypes.cast(ctypes.CDLL(module).PyInit__imaging, ctypes.c_void_p)
    information, dladdr = Information(), ctypes.CDLL(None).dladdr
    dladdr.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    if not dladdr(entry, ctypes.byref(information)):
        raise OSError("no file holds the entry of " + module)
    return os.path.realpath(os.fsdecode(information.file))


def _list_loaded_objects() -> list[str]:
    """Return the loader's list, without the program, which has no name there. Source: dl_iterate_phdr(3)."""
    import ctypes  # noqa: PLC0415 (not every interpreter has it)

    class Information(ctypes.Structure):
        _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))

    names = []
    visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Information), ctypes.c_size_t, ctypes.c_void_p)

    def visit(information, _size, _data):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (called from C)
        names.append(os.fsdecode(information[0].name or b""))
        return 0

    if ctypes.CDLL(None).dl_iterate_phdr(visitor(visit), None) or not names:
        raise OSError("the loader's list cannot be walked")
    return [os.path.realpath("/proc/self/exe"), *names[1:]]


def _tidy(name: str) -> str:
    """Return an absolute path, without `..` if that names the same file."""
    name = name if name.startswith("/") else os.path.join(os.getcwd(), name)
    shorter = os.path.normpath(name)
    try:
        return shorter if shorter == name or os.path.samefile(shorter, name) else name
    except OSError:
        return name
