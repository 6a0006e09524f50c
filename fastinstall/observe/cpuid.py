"""Ask the processor itself for its features with the CPUID instruction, which py-cpuinfo executes in its own process.

/proc/cpuinfo shows the features that the kernel lets programs use. The instruction does not depend on the kernel. If
the two differ, either the kernel hides features, or an emulator runs programs on a CPU that is not the kernel's.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from fastinstall.core.architecture import architecture_of
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.elf.cpu import select_level_features

_TIMEOUT = 10.0

# get_cpu_info() would merge in /proc/cpuinfo, and sleeps for a second to measure the clock.
_SCRIPT = """
import json
from cpuinfo.cpuinfo import CPUID
asked = CPUID()
print(json.dumps(sorted(asked.get_flags(asked.get_max_extension_support()))))
"""


def execute_cpuid(architecture: str, command: Sequence[str | Path] = (sys.executable, "-I")) -> tuple[str, ...] | None:
    """Return the features that the CPUID instruction reports, limited to those that CPU levels above the first require.

    Args:
        architecture: architecture of this machine, as in `uname -m`.
        command: the command that starts a Python with py-cpuinfo.

    Returns:
        Names of features, as in /proc/cpuinfo. None if the architecture has no such instruction, or if it could not be
        executed; for example, a hardened kernel allows no code in writable memory.
    """
    known = architecture_of(architecture)
    if not known.has_cpuid:
        return None
    try:
        flags = json_data(run((*command, "-c", _SCRIPT), timeout=_TIMEOUT).stdout)
    except (CommandError, ValueError):
        return None
    return select_level_features(known, flags)
