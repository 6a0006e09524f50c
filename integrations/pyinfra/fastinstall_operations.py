"""An operation for pyinfra that sets up the fast stack in an environment of a host.

Put this file beside `fastinstall_facts.py` in the directory of a deploy. The argument `tool` is the command that runs
fastinstall on the host: its name or path. If fastinstall is only in a wheelhouse (`fastinstall build --with-tool`),
copy the directory `module_utils` of the Ansible collection to the host, for example into /srv, and run fastinstall with
it: `tool="env PYTHONPATH=/srv python3 -m module_utils.tool /srv/wheelhouse"`.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from fastinstall_facts import FastinstallPlan
from pyinfra import host
from pyinfra.api import operation

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERWISE = {"channels": "--channel"}


@operation()
def stack(environment: str, tool: str = "fastinstall", **options: Any) -> Iterator[str]:  # noqa: ANN401 (of any kind)
    """Set up the stack as requested; do nothing if it is installed and intact.

    Args:
        environment: the environment's directory, created if it does not exist.
        tool: the command that runs fastinstall on the host.
        options: options of `fastinstall setup`, by their names: `offline=True, levels=["x86-64-v2"], guard=False`.
    """
    place = quote(environment)
    target = f"$([ -e {place} ] && echo --prefix || echo --new-env) {place}"
    words = " ".join((target, *(word for name, value in options.items() for word in _flag(name, value))))
    plan = host.get_fact(FastinstallPlan, words=words, tool=tool)
    if "verify" in plan and plan["verify"] is None:
        host.noop(plan["summary"])
    else:  # If planning failed, setup is run as well, because it reports the reason.
        yield f"{tool} setup --yes {words}"


def _flag(name: str, value: object) -> tuple[str, ...]:
    """Return an option as words of the command line; empty for None, and for a flag with its default value."""
    flag = _OTHERWISE.get(name, f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        if name == "guard":
            return () if value else ("--no-guard",)
        return (flag,) if value else ()
    if isinstance(value, (list, tuple)):
        value = ",".join(str(each) for each in value)
    return () if value is None else (flag, quote(str(value)))
