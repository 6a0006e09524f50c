"""Write and compile the start-up guard in a transaction's `stage`; the transaction moves it into site-packages."""

from pathlib import Path

from fastinstall.core import files, foreign, process
from fastinstall.core.directories import hooks_directory
from fastinstall.observe.guard_files import GUARD_PACKAGE, GUARD_STATE, list_entries, list_sources

_COMPILE_SECONDS = 60.0


def stage_guard(stage: Path, state: str, python: Path, version: str) -> tuple[str, ...]:
    """Write the guard's files below `stage`, with bytecode for the interpreter that will run them.

    Args:
        stage: a directory on the target's filesystem.
        state: content of the guard's state file, as returned by `render_state`.
        python: path of the interpreter that will run the guard.
        version: version of that interpreter, such as "3.12.4".

    Returns:
        The top-level names below `stage`, as returned by `list_entries`.

    Raises:
        CommandError: the target's interpreter could not compile the guard.
    """
    for name in list_sources(version):
        files.write_bytes(stage / name, foreign.read_bytes(hooks_directory() / name))
    files.write_text(stage / GUARD_STATE, state)
    # Python validates this bytecode by the source's size and modification time, which a rename keeps. The mode is
    # passed because compileall chooses another mode by default if SOURCE_DATE_EPOCH is set.
    compiling = ("compileall", "-q", "-d", GUARD_PACKAGE, "--invalidation-mode", "timestamp", stage / GUARD_PACKAGE)
    process.run((python, "-I", "-S", "-m", *compiling), timeout=_COMPILE_SECONDS, while_working=True)
    return list_entries(version)
