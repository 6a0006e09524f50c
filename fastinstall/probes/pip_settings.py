"""What pip's configuration says about a target, key by key and with its origin, from the files alone; pip is not run.

Source: pip's "Configuration". Files come in this order, and of one key in one section the last one holds: global,
user's, the environment's, the one that PIP_CONFIG_FILE names. `pip install` then takes [install] before [global], and a
variable before both.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.rules.pip_foreign import PipSetting, links_beside
from fastinstall.system import foreign

_SECTIONS = ("global", "install")
_KEYS = frozenset({"find-links", "constraint", "no-index"})
_NAME = "pip.conf"
_ON_PILLOW = re.compile(r"\s*pillow(?![\w.-])", re.IGNORECASE)


def observe_pip_settings(prefix: Path, variables: Mapping[str, str]) -> tuple[PipSetting, ...]:
    """What bears on a pin, in rising order of precedence.

    Args:
        prefix: of the environment.
        variables: environment variables of the shell.
    """
    named = variables.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return (PipSetting(origin="PIP_CONFIG_FILE", section=":env:", key="config-file", value=named), *_of(variables))
    own = (prefix / _NAME, Path(named))
    found = [setting for file in _files(prefix, named, variables) for setting in _in(file, later=file in own)]
    by_section = (setting for section in _SECTIONS for setting in found if setting.section == section)
    return (*by_section, *_of(variables))


def links_of(prefix: Path, variables: Mapping[str, str], *, used_by_pip: bool = True) -> tuple[str, ...]:
    """Places of wheels that pip is told of, for a pin to repeat; arguments likewise, and as of `links_beside`.

    Raises:
        RefusedError: a setting would hide a pin, or a pin would hide it; or pip cannot read a file of its own.
    """
    found = observe_pip_settings(prefix, variables)
    return links_beside(prefix, found, _on_pillow, used_by_pip=used_by_pip)


def _on_pillow(setting: PipSetting) -> tuple[str, ...]:
    """The lines of local constraint files, named by a setting, that are about Pillow."""
    files = (Path(word.removeprefix("file://")).expanduser() for word in setting.value.split())
    return tuple(line for file in files for line in _lines(file) if _ON_PILLOW.match(line))


def _files(prefix: Path, named: str, variables: Mapping[str, str]) -> Iterator[Path]:
    home = Path(variables.get("HOME") or "~").expanduser()
    shared = variables.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    yield from (Path(directory, "pip", _NAME) for directory in shared.split(os.pathsep) if directory)
    yield Path("/etc", _NAME)
    if not (named and Path(named).exists()):
        yield home / ".pip" / _NAME
        yield Path(variables.get("XDG_CONFIG_HOME") or home / ".config", "pip", _NAME)
    yield prefix / _NAME
    if named:
        yield Path(named)


def _in(file: Path, *, later: bool) -> Iterator[PipSetting]:
    from fastinstall.rules.pip_pins import parsed, without_block  # noqa: PLC0415 (only where something is pinned)

    try:
        content = foreign.read_bytes(file)
    except OSError:
        return
    for section, values in parsed(without_block(content), file).items():
        for key, value in values.items():
            plain = key.lower().replace("_", "-").removeprefix("--")
            if section in _SECTIONS and plain in _KEYS and value.strip():
                told = " ".join(value.split())
                yield PipSetting(origin=str(file), section=section, key=plain, value=told, later=later)


def _of(variables: Mapping[str, str]) -> Iterator[PipSetting]:
    for name, value in variables.items():
        key = name.removeprefix("PIP_").lower().replace("_", "-")
        if name.startswith("PIP_") and key in _KEYS and value.strip():
            yield PipSetting(origin=name, section=":env:", key=key, value=value.strip())


def _lines(file: Path) -> list[str]:
    try:
        return foreign.read_text(file, errors="replace").splitlines()
    except OSError:
        return []
