"""A callback of Ansible's: writes what each task came to on each host, one JSON document a line.

It is loaded by Ansible, which imports all that lies in this directory; `ansible_plays` reads what it writes.
"""

import json
import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped]  # likewise

_FILE = "FASTINSTALL_TEST_RECORD"


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible tells nothing of its types
    """Beside the usual output."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "recorded"

    def v2_runner_on_ok(self, result: Any) -> None:
        """It went well."""
        self._record(result, "changed" if _of(result, "result").get("changed") else "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002 (Ansible's)
        """It failed."""
        del ignore_errors
        self._record(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Nobody answered."""
        self._record(result, "unreachable")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """It was not for this host."""
        self._record(result, "skipped")

    def _record(self, result: Any, status: str) -> None:
        host, task = _of(result, "host").name, _of(result, "task").name
        line = {"host": host, "task": task, "status": status, "result": _of(result, "result")}
        with Path(os.environ[_FILE]).open("a", encoding="utf-8") as record:
            record.write(json.dumps(line, default=str) + "\n")


def _of(result: Any, name: str) -> Any:
    """A part of a task's result; before ansible-core 2.19 under a private name."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, f"_{name}")
