"""Write down which environments were set up, so that `doctor --all` finds them."""

import contextlib
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.probes.registry import LIST, read_list
from fastinstall.system.files import append_line
from fastinstall.system.surroundings import make_private


def remember(session: Session, environment: Environment) -> None:
    """Add an environment to our list, once; a list that cannot be written is no reason to stop."""
    file, prefix = session.directories.state / LIST, Path(environment.prefix)
    if prefix in read_list(file) or "\n" in str(prefix):
        return
    with contextlib.suppress(OSError, UnicodeEncodeError):
        make_private(file.parent)
        append_line(file, str(prefix))
