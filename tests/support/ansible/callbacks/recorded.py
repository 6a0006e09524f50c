"""Ansible callback that writes the result of each task on each host, as one JSON document per line.

Ansible imports all modules in this directory; `ansible_plays` reads the results.
"""

import json
import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped]  # Ansible has no type hints

_FILE = "FASTINSTALL_TEST_RECORD"


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible has no type hints
    """Records results, in addition to Ansible's usual output."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "recorded"

    def v2_runner_on_ok(self, result: Any) -> None:
        """Record a task that succeeded."""
        self._record(result, "changed" if _of(result, "result").get("changed") else "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002 (Ansible's)
        """Record a task that failed."""
        del ignore_errors
        self._record(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Record a host that could not be reached."""
        self._record(result, "unreachable")

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Record a task that was skipped."""
        self._record(result, "skipped")

    def _record(self, result: Any, status: str) -> None:
        host, task = _of(result, "host").name, _of(result, "task").name
        line = {"host": host, "task": task, "status": status, "result": _of(result, "result")}
        with Path(os.environ[_FILE]).open("a", encoding="utf-8") as record:
            record.write(json.dumps(line, default=str) + "\n")


def _of(result: Any, name: str) -> Any:
    """Return an attribute of a task's result; before ansible-core 2.19, its name begins with an underscore."""
    return getattr(result, name) if hasattr(result, name) else getattr(result, f"_{name}")
