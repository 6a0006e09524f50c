"""`fastinstall inspect`: print the facts about an environment and this machine.

With --redact, private data is removed, so that the facts can be pasted into a bug report.
"""

import dataclasses
import os
import re
from argparse import Namespace
from collections.abc import Callable
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

from fastinstall import __version__
from fastinstall.cli.common import open_target_to_read, tell
from fastinstall.cli.console import Page
from fastinstall.cli.main import Context
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.core.errors import ExitCode
from fastinstall.core.secrets import redact_text
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named


def run(arguments: Namespace, context: Context) -> int:
    """Observe the environment and the machine in full, and print the facts."""
    session, environment = open_target_to_read(arguments, context)
    recipe = recipe_named(session, Request().recipe)
    request = ObservationRequest(recipe=recipe, runtime=True, binaries=Binaries.DESCRIBED, toolchain=True, cpuid=True)
    facts = facts_of(session, environment, request)
    redacted = bool(arguments.redact)
    if redacted:
        home = PurePath(context.sources.variables.get("HOME", "/"))
        user = context.sources.variables.get("USER") or context.sources.variables.get("LOGNAME") or home.name
        facts = redact(facts, home=home, user=user, host=os.uname().nodename, known=context.console.known)
    system = os.uname()
    head = f"fastinstall {__version__} on {system.sysname} {system.release}"

    def render(facts: Facts, page: Page) -> str:
        # A bug report needs every row.
        return f"{head}\n{facts_text(facts, dataclasses.replace(page, verbose=page.verbose or redacted))}"

    tell(context, "facts", facts, render)
    return ExitCode.OK


T = TypeVar("T")

_HOMES = re.compile(r"(?<![\w.-])/(?:home|Users)/[^/\s:'\"]+")
_UNTELLING = ("", "root", "localhost")


def redact(facts: T, *, home: PurePath, user: str, host: str = "", known: tuple[str, ...] = ()) -> T:
    """Return `facts` without secrets; home directories become "~", the user's name USER, and the machine's name HOST.

    Args:
        facts: a value of the model.
        home: the user's home directory.
        user: the user's name; "root" reveals nothing and stays.
        host: the machine's name; "localhost" reveals nothing and stays.
        known: the values of secrets, from `find_secret_values`.
    """
    fixed = [(re.compile(rf"(?<![\w.-]){re.escape(str(home))}(?![\w.-])"), "~")] if len(str(home)) > 1 else []
    named = [(name, word) for name, word in ((user, "USER"), (host, "HOST")) if name not in _UNTELLING]
    words = [(re.compile(rf"(?<!\w){re.escape(name)}(?!\w)"), word) for name, word in named]

    def remove(text: str) -> str:
        text = redact_text(text, known)
        for pattern, word in (*fixed, (_HOMES, "~"), *words):
            text = pattern.sub(word, text)
        return text

    return _redact_value(facts, remove)  # type: ignore[no-any-return] # the same type as given


def _redact_value(value: Any, remove: Callable[[str], str]) -> Any:  # noqa: ANN401 (any value of the model)
    if isinstance(value, str) and not isinstance(value, Enum):
        return remove(value)
    if isinstance(value, PurePath):
        return type(value)(remove(str(value)))
    if isinstance(value, tuple):
        return tuple(_redact_value(item, remove) for item in value)
    if isinstance(value, dict):
        return {remove(str(key)): _redact_value(item, remove) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _redact_value(getattr(value, field.name), remove) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value
