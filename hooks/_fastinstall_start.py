"""Starts the guard in _fastinstall_guard/, and is harmless without it. For Python 3.18 and later.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

SIZE = 4963


def start() -> None:
    """Load the guard, unless its file has another size: a damaged one is left alone."""
    import os

    try:
        file = __file__.rpartition("/")[0] + "/_fastinstall_guard/__init__.py"
        if os.stat(file).st_size != SIZE:
            return
    except OSError:
        return
    import _fastinstall_guard

    _fastinstall_guard.start()
