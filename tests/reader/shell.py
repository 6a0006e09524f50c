"""One bash process for a whole page, so that `cd`, `export`, `alias` and background processes persist."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.sandbox import Result

_DRIVER = """
shopt -s expand_aliases
set -o pipefail
while IFS= read -r __file; do
  . "$__file" >"$__file.out" 2>"$__file.err" </dev/null
  printf '%s\\n' "$?"
done
"""


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A bash process that runs commands one after the other.

    Attributes:
        process: the shell's process.
        notes: a directory for the files of commands and of their output.
        seconds: time limit of a command.
    """

    process: "subprocess.Popen[str]"
    notes: Path
    seconds: float

    def run(self, command: str) -> Result:
        """Run a command to its end; its background processes continue."""
        file = self.notes / f"{len(list(self.notes.glob('*.sh'))):03}.sh"
        file.write_text(f"{command}\n", encoding="utf-8")
        assert self.process.stdin is not None
        self.process.stdin.write(f"{file}\n")
        self.process.stdin.flush()
        code = self._answer(command)
        out, err = (Path(f"{file}{end}").read_text(encoding="utf-8", errors="replace") for end in (".out", ".err"))
        return Result(exit_code=code, stdout=out, stderr=err)

    def _answer(self, command: str) -> int:
        deadline = time.monotonic() + self.seconds
        assert self.process.stdout is not None
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
            if ready:
                line = self.process.stdout.readline()
                assert line, f"the shell ended at: {command}"
                return int(line)
        raise AssertionError(f"not done after {self.seconds:.0f} s: {command}")


@contextmanager
def opened(directory: Path, notes: Path, variables: Mapping[str, str], *, seconds: float = 1200.0) -> Iterator[Shell]:
    """Open a shell in a directory; at the end of the block, kill it and all processes that it has started.

    Args:
        directory: the initial working directory.
        notes: an empty directory for the files of commands and of their output.
        variables: all environment variables of the shell.
        seconds: time limit of each command.
    """
    process = subprocess.Popen(
        ("bash", "--noprofile", "--norc", "-c", _DRIVER),
        cwd=directory,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield Shell(process=process, notes=notes, seconds=seconds)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
