"""Finds the Debian mirror of this machine's apt."""

import subprocess


class NoMirrorError(Exception):
    """This machine's apt has no Debian mirror."""


def find_debian_mirror() -> str:
    """Return the address of the Debian mirror that this machine's apt uses.

    Raises:
        NoMirrorError: apt has no Debian mirror.
        subprocess.CalledProcessError: apt fails.
        OSError: there is no apt.
    """
    wanted = ("Created-By: Packages", "Origin: Debian", "Component: main")
    argv = ("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted)
    for is_up_to_date in (False, True):
        found = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
        if found:
            return found[0]
        if not is_up_to_date:  # container images have no package lists
            subprocess.run(("apt-get", "update"), capture_output=True, check=True)
    raise NoMirrorError("apt of this machine has no packages of Debian")
