"""The settings with which this machine reaches its package index; tests obey no other settings of the machine.

`/etc/pip.conf` may contain more, for example an organisation's constraint, which every pip in a test would obey. No
variable skips only this file: `PIP_CONFIG_FILE=/dev/null` would also skip the environment's file, which contains our
pins. So another file is mounted over `/etc/pip.conf`.
"""

import configparser
import os
import ssl
import tempfile
from pathlib import Path

from support.machine.own_mounts import bind, unshare_mounts

OF_THE_MACHINE = Path("/etc/pip.conf")
"""Settings that every pip reads."""

_REACHES = frozenset(
    {
        *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"),
        *("cert", "client-cert", "proxy", "retries", "timeout", "keyring-provider"),
    }
)


def trust_variables() -> dict[str, str]:
    """Return variables that make uv trust the system's certificates, as pip does, if the system has any."""
    known = ssl.get_default_verify_paths()
    has_any = known.cafile or (known.capath and any(os.scandir(known.capath)))
    return {"UV_SYSTEM_CERTS": "1"} if has_any else {}


def shared_settings(directory: Path, *further: Path) -> dict[str, str]:
    """Copy the index-related part of pip's settings for all users into another directory.

    Args:
        directory: receives `pip/pip.conf`, unless there are no settings.
        further: further files of settings; later ones take precedence.

    Returns:
        The variable that makes pip read that file.
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
    """Hide all settings in a file, except those of the index, from this process and its child processes.

    Returns:
        The reason why that is impossible; empty on success.
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
    """Remove all settings except those of the index, and return their keys."""
    further = [(section, key) for section in parsed.sections() for key in set(parsed.options(section)) - _REACHES]
    for section, key in further:
        parsed.remove_option(section, key)
    return sorted(key for _, key in further)


def settings_of_person() -> tuple[Path, ...]:
    """Return the paths of the pip settings of the person who runs the tests; the files may be missing."""
    home = Path.home()
    configured = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return OF_THE_MACHINE, home / ".pip" / "pip.conf", configured / "pip" / "pip.conf"
