"""Compare the time of the Ansible role with copying the wheel and installing it with Ansible's pip module.

    python benchmarks/ansible_role.py [--hosts 3] [--rounds 5] [--cache DIR]

The hosts are namespaces of this machine and share its CPUs, so that the computing time of all hosts adds up, unlike in
a real fleet. The wheelhouse is built in advance. Each round resets the hosts and times these:

    pip       copy the wheel and install it with `ansible.builtin.pip` (offline)
    first     run the role on hosts without fastinstall, which is shipped and unpacked too
    later     run the role on hosts that have fastinstall but not the wheel
    second    run the role on hosts where everything is installed

`first` and `later` also prove the build, install the guard and examine the stack, which pip does not. Prints medians in
seconds, and the median ratio to `pip` in the same round. Needs root and ansible-core. A script replaces ssh, so that
there is no network and no encryption.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from integration.ansible_role.fleet import ENVIRONMENT, Fleet, build_fleet
from integration.ansible_role.machines import Machine, network
from integration.ansible_role.plays import Controller
from support.sandbox import Sandbox

ROLE = "- hosts: fleet\n  gather_facts: false\n  roles: [fastinstall.stack.stack]\n"
PIP = """
- hosts: fleet
  gather_facts: false
  tasks:
    - ansible.builtin.copy: {{src: "{wheel}", dest: "/media/{name}"}}
    - ansible.builtin.pip:
        name: "/media/{name}"
        executable: {environment}/bin/pip
        extra_args: --no-index --no-deps
"""
RESET = f"""
- hosts: fleet
  gather_facts: false
  tasks:
    - ansible.builtin.raw: >-
        set -e; rm -rf {ENVIRONMENT} /media/*.whl ~/.cache; {{{{ also | default('true') }}}};
        cp -a /media/blank {ENVIRONMENT}
"""
PREPARE = f"""
- hosts: fleet
  gather_facts: false
  tasks:
    - ansible.builtin.raw: "{ENVIRONMENT}/bin/python -m ensurepip --default-pip && cp -a {ENVIRONMENT} /media/blank"
"""
FORGET = "rm -rf ~/.local/share/fastinstall"
NAMES = ("pip", "first", "later", "second")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="the role against pip's module")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="a cache of fastinstall, in which the build is")
    arguments = parser.parse_args()
    with _controller(arguments.hosts, arguments.cache) as (controller, fleet):
        _play(controller, PREPARE)
        rounds = [_round(controller, fleet) for _ in range(arguments.rounds)]
    for name in NAMES:
        seconds = statistics.median(each[name] for each in rounds)
        ratio = statistics.median(each[name] / each["pip"] for each in rounds)
        print(f"{name:8} {seconds:7.2f} s   {ratio:5.2f} x pip")


@contextmanager
def _controller(hosts: int, cache: Path | None) -> Iterator[tuple[Controller, Fleet]]:
    names = [f"web{number}" for number in range(1, hosts + 1)]
    with tempfile.TemporaryDirectory(prefix="ansible-role-") as space:
        root = Path(space)
        sandbox = Sandbox(root=root, cache=cache or root / "cache", downloads=root / "downloads")
        fleet = build_fleet(sandbox, names)
        with network([Machine(name=name, megabytes=600) for name in names], sandbox) as machines:
            yield Controller(network=machines, variables=fleet.variables), fleet


def _round(controller: Controller, fleet: Fleet) -> dict[str, float]:
    wheel = next(fleet.wheelhouse.glob("*.whl"))
    by_pip = PIP.format(wheel=wheel, name=wheel.name, environment=ENVIRONMENT)
    plays = {"pip": (by_pip, "true"), "first": (ROLE, FORGET), "later": (ROLE, f"{FORGET}/wheelhouse/*.whl")}
    seconds = {}
    for name, (playbook, before) in plays.items():
        _play(controller, RESET, also=before)
        seconds[name] = _play(controller, playbook)
    seconds["second"] = _play(controller, ROLE)
    return seconds


def _play(controller: Controller, playbook: str, **variables: str) -> float:
    """Run a playbook, and return its duration in seconds."""
    start = time.perf_counter()
    played = controller.play(playbook, **variables)
    seconds = time.perf_counter() - start
    if played.exit_code != 0:
        sys.exit(played.text)
    return seconds


if __name__ == "__main__":
    main()
