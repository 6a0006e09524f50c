"""How this machine reaches its package index, for tests that otherwise know nothing of the machine.

Settings of pip hold more than that: a constraint of the house would be obeyed by every pip of a test. No variable leads
past `/etc/pip.conf` alone: `PIP_CONFIG_FILE=/dev/null` would leave out the file of an environment too, where our pins
stand. So the tests have another file in its place.
"""

import configparser
import os
import ssl
import tempfile
from pathlib import Path

from support.machine.own_mounts import bind, unshare_mounts

OF_THE_MACHINE = Path("/etc/pip.conf")
"""Read by every pip."""

_REACHES = frozenset(
    {
        *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"),
        *("cert", "client-cert", "proxy", "retries", "timeout", "keyring-provider"),
    }
)


def trust_variables() -> dict[str, str]:
    """Variables that have uv believe in the certificates of the system, as pip does, where the system has any."""
    known = ssl.get_default_verify_paths()
    has_any = known.cafile or (known.capath and any(os.scandir(known.capath)))
    return {"UV_SYSTEM_CERTS": "1"} if has_any else {}


def shared_settings(directory: Path, *further: Path) -> dict[str, str]:
    """Write what pip's settings for all users of this machine say of the index into another directory.

    Args:
        directory: gets a `pip/pip.conf`, unless there are no settings.
        further: files of settings to read as well; the last one counts.

    Returns:
        The variable that leads pip there.
    """
    places = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    parsed = configparser.RawConfigParser()
    if not parsed.read((*(Path(place, "pip/pip.conf") for place in places), *further), encoding="utf-8"):
        return {}
    _keep_what_reaches(parsed)
    (directory / "pip").mkdir(parents=True, exist_ok=True)
    with (directory / "pip" / "pip.conf").open("w", encoding="utf-8") as written:
        parsed.write(written)
    return {"XDG_CONFIG_DIRS": str(directory)}


def hide_further_settings(file: Path = OF_THE_MACHINE) -> str:
    """Have this process, and all that it starts, see nothing in a file of settings but how the index is reached.

    Returns:
        Why that cannot be; empty where it is so.
    """
    parsed = configparser.RawConfigParser()
    parsed.read(file, encoding="utf-8")
    further = _keep_what_reaches(parsed)
    if not further:
        return ""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as written:
        parsed.write(written)
        written.flush()
        try:
            unshare_mounts()
            bind(Path(written.name), file)
        except OSError as error:
            return f"pip of the tests obeys {file} ({', '.join(further)}): it cannot be hidden: {error.strerror}"
    return ""


def _keep_what_reaches(parsed: configparser.RawConfigParser) -> list[str]:
    """Remove all other settings; their keys."""
    further = [(section, key) for section in parsed.sections() for key in set(parsed.options(section)) - _REACHES]
    for section, key in further:
        parsed.remove_option(section, key)
    return sorted(key for _, key in further)


def settings_of_person() -> tuple[Path, ...]:
    """Pip's files of settings of whoever runs the tests; they need not be there."""
    home = Path.home()
    configured = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return OF_THE_MACHINE, home / ".pip" / "pip.conf", configured / "pip" / "pip.conf"
