"""Code that the modules share: parameters, running fastinstall, and returning the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ToolError
from .states import Request
from .tool import Source, find_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from ansible.module_utils.basic import AnsibleModule

TARGET: dict[str, dict[str, Any]] = {"prefix": {"type": "path"}, "python": {"type": "path"}}
"""The parameters that name an environment."""

TOOL: dict[str, dict[str, Any]] = {
    "executable": {"type": "str"},
    "tool_python": {"type": "path"},
    "tool_directory": {"type": "path"},
    "tool_checksum": {"type": "str"},
}
"""The parameters that say where fastinstall comes from; the modules add `wheelhouse`."""

_DAMAGED = 7


def request_of(module: AnsibleModule) -> Request:
    """Return the request that a module's parameters describe.

    Raises:
        ToolError: fastinstall was not found, or cannot run.
    """
    given = module.params
    source = Source(
        wheelhouse=given["wheelhouse"],
        executable=given["executable"],
        python=given["tool_python"],
        directory=given["tool_directory"],
        checksum=given["tool_checksum"],
    )
    return Request(
        tool=find_tool(source),
        run=module.run_command,
        parameters=given,
        changing=not module.check_mode,
        comparing=module._diff,  # noqa: SLF001 (documented in Ansible's developer guide)
    )


def conclude(module: AnsibleModule, work: Callable[[], dict[str, Any]]) -> None:
    """Do the work, and end the module with the result or with the error.

    In check mode, skip a host without the wheelhouse: the task that sends the wheelhouse did not send it in check mode.
    """
    wheelhouse = module.params["wheelhouse"]
    if module.check_mode and wheelhouse and not module.params["executable"] and not Path(wheelhouse).is_dir():
        module.exit_json(changed=False, skipped=True, msg=f"{wheelhouse} does not exist yet, so fastinstall cannot run")
    try:
        result = work()
    except ToolError as error:
        module.fail_json(
            msg=error.message,
            hint=error.hint,
            details=error.details,
            exit_code=error.exit_code,
            changed=error.exit_code == _DAMAGED,
        )
    if result.pop("failed", False):
        module.fail_json(**result)
    module.exit_json(**result)
