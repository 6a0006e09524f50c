"""Where this machine's apt has the packages of Debian."""

import subprocess


class NoMirrorError(Exception):
    """It has none; the text says so."""


def find_debian_mirror() -> str:
    """Return the address of the packages of Debian that apt of this machine has.

    Raises:
        NoMirrorError: it has none.
        subprocess.CalledProcessError: apt fails.
        OSError: there is no apt.
    """
    wanted = ("Created-By: Packages", "Origin: Debian", "Component: main")
    argv = ("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted)
    for is_up_to_date in (False, True):
        found = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
        if found:
            return found[0]
        if not is_up_to_date:  # images of containers come without lists
            subprocess.run(("apt-get", "update"), capture_output=True, check=True)
    raise NoMirrorError("apt of this machine has no packages of Debian")
