"""How this machine reaches its package index, for tests that otherwise know nothing of the machine.

Settings of pip hold more than that: a constraint of the house would be obeyed by every pip of a test. `/etc/pip.conf`
is read all the same: `PIP_CONFIG_FILE=/dev/null` would leave out the file of an environment too, where our pins stand.
"""

import configparser
import os
import ssl
from pathlib import Path

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
    for section in parsed.sections():
        for key in set(parsed.options(section)) - _REACHES:
            parsed.remove_option(section, key)
    (directory / "pip").mkdir(parents=True, exist_ok=True)
    with (directory / "pip" / "pip.conf").open("w", encoding="utf-8") as written:
        parsed.write(written)
    return {"XDG_CONFIG_DIRS": str(directory)}


def settings_of_person() -> tuple[Path, ...]:
    """Pip's files of settings of whoever runs the tests; they need not be there."""
    home = Path.home()
    configured = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return Path("/etc/pip.conf"), home / ".pip" / "pip.conf", configured / "pip" / "pip.conf"
