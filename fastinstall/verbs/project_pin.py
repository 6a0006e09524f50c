"""Make a diff that pins our build in the project of an environment; the user applies it.

The project's own tool, such as uv, tries the pin on a copy of the project. The project itself is not changed.
"""

from pathlib import Path

from fastinstall.core.directories import refuse_homeless
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import fix_command, quote
from fastinstall.guard.pinning import find_installed_wheel_of
from fastinstall.model.facts import Environment
from fastinstall.observe.observation import receipt_of, recorded_facts
from fastinstall.observe.session import Session
from fastinstall.pins.pin_project import PinRequest, ProjectChange, make_pin
from fastinstall.pins.recognition import project_of
from fastinstall.pins.tools import tools


def pin_project(
    session: Session, environment: Environment, *, project: Path | None = None, wheels: Path | None = None
) -> ProjectChange:
    """Return the diff that pins our build in an environment's project, and copy the build to where the diff expects it.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the environment in which our stack is installed.
        project: the project's directory; None for the project that contains the environment.
        wheels: the directory to keep the build in; None for one in the user's data directory.

    Raises:
        UsageError: the environment belongs to no project.
        RefusedError: nothing is set up, the stack was replaced, or the project cannot be pinned.
        DocumentError: a file of the project cannot be read.

    Example:
        change = pin_project(session, environment, project=Path("app"))
        print(change.diff)
    """
    prefix, receipt = Path(environment.prefix), receipt_of(environment)
    if receipt is None:
        raise RefusedError(
            f"{prefix}: fastinstall has not set up this environment, so there is no build to pin",
            hint=f"fastinstall setup --prefix {quote(prefix)}",
        )
    core = recorded_facts(session, environment, receipt).stack.core
    if core is None or core.sha256 != receipt.core.sha256:
        raise RefusedError(f"{prefix}: not what fastinstall installed", hint=fix_command(prefix))
    found = project_of(prefix, project)
    if found is None:
        raise UsageError(
            f"{prefix} lies in no project of a tool that can be pinned",
            hint=f"name it: fastinstall guard pin --prefix {quote(prefix)} --project DIR",
        )
    wheel = Path(receipt.wheel)
    if not tools()[found.manager].takes_packages:
        wheel = find_installed_wheel_of(session, prefix, receipt, rebuilt_by="--upgrade")
    directory = wheels.absolute() if wheels is not None else session.directories.data / "wheels"
    refuse_homeless(directory)
    request = PinRequest(prefix=prefix, project=found, receipt=receipt, wheel=wheel, directory=directory)
    return make_pin(request, session.variables)
