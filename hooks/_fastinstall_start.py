"""Starts the guard in _fastinstall_guard/; does nothing if that is missing. For Python 3.18 and later.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

SIZE = 5084


def start() -> None:
    """Start the guard, unless its file has an unexpected size, and so is damaged."""
    import os

    try:
        file = __file__.rpartition("/")[0] + "/_fastinstall_guard/__init__.py"
        if os.stat(file).st_size != SIZE:
            return
    except OSError:
        return
    import _fastinstall_guard

    _fastinstall_guard.start()
