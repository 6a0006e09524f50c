"""Work on an environment while no other program does: neither another fastinstall nor pip, uv or conda.

A lock keeps runs of fastinstall apart. Other installers do not know that lock, so they are looked for in the list of
processes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.lock import lock_environment
from fastinstall.core.package_managers import describe_concurrent_installers
from fastinstall.observe.concurrent_installers import observe_concurrent_installers


@contextmanager
def hold_environment_lock(prefix: Path) -> Iterator[None]:
    """Hold an environment's lock while the block runs, unless another program changes packages there.

    Raises:
        RefusedError: one of ours works there, or another program; named.
        UndeterminedError: there is no such directory.
    """
    with lock_environment(prefix):
        refuse_concurrent_installers(prefix)
        yield


def refuse_concurrent_installers(prefix: Path) -> None:
    """Refuse while another program changes packages in an environment.

    Raises:
        RefusedError: one does; named with its process and command.
    """
    installers = observe_concurrent_installers(prefix)
    if installers:
        processes = ",".join(str(installer.process) for installer in installers)
        hint = f"wait for it to end; to see what it is: ps -fp {processes}"
        raise RefusedError(f"{prefix}: {describe_concurrent_installers(installers)}", hint=hint)
