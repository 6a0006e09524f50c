"""List pip's settings for a target, key by key and with their origin, from files alone; pip is not run.

Source: pip's "Configuration". For one key in one section the last file wins: global, user's, the environment's, the one
that PIP_CONFIG_FILE names. `pip install` then takes [install] before [global], and a variable before both.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.home import find_home
from fastinstall.core.messages import quote
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.observe.pip_pins import parse_pip_config, remove_pin_block

VARIABLES = ":env:"
"""The section of a setting that a variable makes, as `pip config debug` writes it."""


@immutable
class PipSetting:
    """One setting of pip.

    Attributes:
        origin: the file, or the name of the variable.
        section: of the file; ":env:" for a variable.
        key: as in a file ("find-links").
        value: several values are separated by blanks.
        later: whether its file is the environment's own, or one that pip reads after it.
    """

    origin: str
    section: str
    key: str
    value: str
    later: bool = False

    @property
    def told(self) -> str:
        """The setting for a sentence, without passwords."""
        value = redact_text(self.value)
        if self.section == VARIABLES:
            return f"{self.origin}={quote(value)}"
        return f"{self.origin}: [{self.section}] {self.key} = {value}"


_SECTIONS = ("global", "install")
_KEYS = frozenset({"find-links", "constraint", "no-index"})
_NAME = "pip.conf"


def observe_pip_settings(prefix: Path, variables: Mapping[str, str]) -> tuple[PipSetting, ...]:
    """Return the settings that affect a pin, in rising order of precedence.

    Args:
        variables: environment variables of the shell.
    """
    found = tuple(setting for setting in list_pip_settings(prefix, variables) if setting.key in _KEYS)
    if variables.get("PIP_CONFIG_FILE") == os.devnull:
        return (PipSetting(origin="PIP_CONFIG_FILE", section=VARIABLES, key="config-file", value=os.devnull), *found)
    return found


def list_pip_settings(prefix: Path, variables: Mapping[str, str]) -> tuple[PipSetting, ...]:
    """Return all settings of `pip install`, in rising order of precedence; arguments likewise.

    Raises:
        RefusedError: pip cannot read one of its files.
    """
    named = variables.get("PIP_CONFIG_FILE", "")
    own = (prefix / _NAME, Path(named))
    paths = _list_configuration_files(prefix, named, variables) if named != os.devnull else ()
    found = [setting for file in paths for setting in _read_file_settings(file, later=file in own)]
    by_section = (setting for section in _SECTIONS for setting in found if setting.section == section)
    return (*by_section, *_read_variable_settings(variables))


def _list_configuration_files(prefix: Path, named: str, variables: Mapping[str, str]) -> Iterator[Path]:
    home = find_home(variables)
    shared = variables.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    yield from (Path(directory, "pip", _NAME) for directory in shared.split(os.pathsep) if directory)
    yield Path("/etc", _NAME)
    if not (named and Path(named).exists()):
        yield home / ".pip" / _NAME
        yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config", "pip", _NAME)
    yield prefix / _NAME
    if named:
        yield Path(named)


def _read_file_settings(file: Path, *, later: bool) -> Iterator[PipSetting]:
    content = foreign.bytes_or_empty(file)
    for section, values in parse_pip_config(remove_pin_block(content), file).items():
        for key, value in values.items():
            plain = key.lower().replace("_", "-").removeprefix("--")
            if section in _SECTIONS and value.strip():
                told = " ".join(value.split())
                yield PipSetting(origin=str(file), section=section, key=plain, value=told, later=later)


def _read_variable_settings(variables: Mapping[str, str]) -> Iterator[PipSetting]:
    for name, value in variables.items():
        key = name.removeprefix("PIP_").lower().replace("_", "-")
        if name.startswith("PIP_") and value.strip():
            yield PipSetting(origin=name, section=VARIABLES, key=key, value=value.strip())
