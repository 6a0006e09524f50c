"""Processes that use PIL and live on while a test looks at them."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

IMPORT = "import PIL.Image"


@contextmanager
def living(
    *command: str | Path, code: str = IMPORT, variables: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """Run Python until the block ends.

    Args:
        command: the interpreter, and what stands before it on the command line.
        code: what it does before it waits.
        variables: its whole environment; None for ours.
    """
    script = f"{code}\nprint('ready', flush=True)\ninput()"
    process = subprocess.Popen(
        (*command, "-c", script), env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()
