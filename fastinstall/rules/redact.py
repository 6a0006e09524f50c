"""Take out of facts what is nobody's business, so that they can be pasted into a bug report."""

import dataclasses
import re
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

T = TypeVar("T")

_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]+@")
_HOMES = re.compile(r"(?<![\w.-])/(?:home|Users)/[^/\s:'\"]+")
_UNTELLING = ("", "root")


def redact(facts: T, *, home: PurePath, user: str) -> T:
    """The same value with home directories as "~", the user's name as "USER", and no credentials in URLs.

    Args:
        facts: a value of the model.
        home: the user's home directory.
        user: the user's name; "root" tells nothing and stays.
    """
    return _redacted(facts, _Secrets(home=str(home), user=user))  # type: ignore[no-any-return] # the same type as given


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Secrets:
    home: str
    user: str

    def remove(self, text: str) -> str:
        text = _CREDENTIALS.sub("", text)
        if len(self.home) > 1:
            text = re.sub(rf"(?<![\w.-]){re.escape(self.home)}(?![\w.-])", "~", text)
        text = _HOMES.sub("~", text)
        if self.user not in _UNTELLING:
            text = re.sub(rf"(?<!\w){re.escape(self.user)}(?!\w)", "USER", text)
        return text


def _redacted(value: Any, secrets: _Secrets) -> Any:  # noqa: ANN401 (any value of the model)
    if isinstance(value, str) and not isinstance(value, Enum):
        return secrets.remove(value)
    if isinstance(value, PurePath):
        return type(value)(secrets.remove(str(value)))
    if isinstance(value, tuple):
        return tuple(_redacted(item, secrets) for item in value)
    if isinstance(value, dict):
        return {secrets.remove(str(key)): _redacted(item, secrets) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _redacted(getattr(value, field.name), secrets) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value
