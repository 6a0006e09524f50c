"""The role with each supported ansible-core; the other tests of Ansible use only the installed version."""

from collections.abc import Iterator

import pytest
from integration.ansible_role.fleet import Fleet, build_fleet
from integration.ansible_role.machines import Machine, Network, network
from integration.ansible_role.plays import Controller
from support.environments.interpreters import of_version
from support.machine.needs import require_system
from support.sandbox import NewSandbox
from support.suite import extent

ALL = extent.every_row
VERSIONS = {
    "2.14": "3.11",
    "2.15": "3.11",
    "2.16": "3.12",
    "2.17": "3.12",
    "2.18": "3.13",
    "2.20": "3.13",
    "2.21": "3.13",
}
"""Versions of ansible-core, each with a Python that it supports."""

pytestmark = pytest.mark.skipif(not ALL, reason="half a minute for each version: --every-row")


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[tuple[Network, Fleet]]:
    """Yield a host on which an ordinary user logs in, and its wheels."""
    with new_sandbox() as sandbox:
        fleet = build_fleet(sandbox, ["web1"])
        with network([Machine(name="web1", user="kim")], sandbox) as hosts:
            yield hosts, fleet


@pytest.mark.parametrize("version", VERSIONS)
def test_the_role_runs_then_changes_nothing_then_rolls_back(version: str, place: tuple[Network, Fleet]) -> None:
    hosts, fleet = place
    python = of_version(VERSIONS[version])
    require_system(python is not None, f"Python {VERSIONS[version]}")
    assert python is not None
    venv = hosts.sandbox.venv(python, tool="uv", name=f"ansible-{version}")
    installed = venv.uv("install", f"ansible-core=={version}.*")
    assert installed.exit_code == 0, installed.text
    variables = {
        **fleet.variables,
        "fastinstall_facts": str(fleet.facts),
        "fastinstall_build_arguments": ["--offline"],
        "fastinstall_new_env": f"/opt/images-{version}",
    }
    del variables["fastinstall_prefix"]
    controller = Controller(network=hosts, variables=variables, program=venv.prefix / "bin" / "ansible-playbook")

    first = controller.play("fastinstall.stack.site", "--become")
    again = controller.play("fastinstall.stack.site", "--become")
    checked = controller.play("fastinstall.stack.check", "--become")
    undone = controller.play("fastinstall.stack.rollback", "--become")

    assert "does not support Ansible version" not in first.text
    assert (first.exit_code, first.changed) == (0, {"web1"}), first.text
    assert {outcome.host for outcome in first.outcomes if "report" in outcome.result} == {"web1"}, first.text
    assert (again.exit_code, again.changed) == (0, set()), again.text
    assert checked.exit_code == 0, checked.text
    assert (undone.exit_code, undone.changed) == (0, {"web1"}), undone.text
