#!/usr/bin/python
# Licence: MIT, see LICENSE of fastinstall.
"""The Ansible module `fastinstall`, which sets up, rolls back or checks a stack; `module_utils` has the code."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fastinstall
short_description: The fast Python image stack in an environment
version_added: 0.1.0
description:
  - Installs Pillow with SIMD kernels, proven and guarded, into a Python environment (C(fastinstall setup)), rolls it
    back (C(fastinstall rollback)), or checks it (C(fastinstall doctor)).
  - A host with a wheelhouse needs no index and no compiler. C(fastinstall build --with-tool -o DIR) makes one, with
    fastinstall itself in it.
  - C(FASTINSTALL_*) variables or C(fastinstall.toml) on the host can set what you leave at its default.
extends_documentation_fragment:
  - fastinstall.stack.tool
options:
  state:
    description:
      - V(present) sets up the stack as requested. If it is installed and intact, nothing changes.
      - V(absent) restores the environment as it was before the first setup that can be undone.
      - V(checked) runs the checks and changes nothing. The module fails on findings of O(fail_on) or worse.
    type: str
    choices: [present, absent, checked]
    default: present
  new_env:
    description: The environment, by its directory, created if it does not exist.
    type: path
  python:
    description:
      - The environment, by its interpreter.
      - With O(new_env), the interpreter that creates it; the default is the one that runs fastinstall.
    type: path
  recipe:
    description: What to build (C(fastinstall recipes list)).
    type: str
    default: pillow-fast
  version:
    description: Version of the source; the default is the newest that fits.
    type: str
  level:
    description:
      - One CPU level, V(x86-64-v2), V(x86-64-v3), V(x86-64-v4) or V(native).
      - V(auto) chooses what suits the host.
    type: str
    default: auto
  levels:
    description: Several CPU levels in one wheel. The loader takes the best one (glibc 2.33 or later).
    type: list
    elements: str
    default: []
  require:
    description: Libraries that the build must have, for example V(webp).
    type: list
    elements: str
    default: []
  link:
    description: Bundle libraries, or link those of the environment or the system.
    type: str
    choices: [bundle, env, system]
    default: bundle
  dist_name:
    description: Name of the distribution that is made.
    type: str
    choices: [pillow, pillow-simd]
    default: pillow
  jobs:
    description: Parallel compile jobs; the default is one per available CPU.
    type: int
  offline:
    description: Never use the network.
    type: bool
    default: false
  wheelhouse:
    description: A directory on the host with sdists, wheels and fastinstall itself.
    type: path
  with_system_deps:
    description: Install missing system packages.
    type: bool
    default: false
  toolchain:
    description: The compiler, V(clang) from the package index, V(system), or V(conda) packages in a private prefix.
    type: str
    choices: [auto, system, clang, conda]
    default: auto
  engine:
    description: What installs into a conda environment, conda, rattler (py-rattler), or pip for a plain wheel.
    type: str
    choices: [auto, conda, rattler, pip]
    default: auto
  channels:
    description: Conda channels for other packages; the default is conda's configuration.
    type: list
    elements: str
    default: []
  guard:
    description: Install the guards, which notice when another tool replaces the stack.
    type: bool
    default: true
  pin:
    description: Also pin the stack in the environment's configuration. This also holds back security updates of Pillow.
    type: bool
    default: false
  upgrade:
    description: Look for a later version even if the stack is intact.
    type: bool
    default: false
  allow:
    description: Named risks to accept. With O(state=absent), V(force-remove) moves aside what replaced the stack.
    type: list
    elements: str
    choices: [force-remove, vulnerable, feature-loss, downgrade, unverified-cpu, protected-packages]
    default: []
  examine:
    description:
      - With O(state=present), run the checks afterwards, in the same task.
      - As with V(checked), the module fails on findings of O(fail_on) or worse. The stack stays installed.
    type: bool
    default: false
  checks:
    description: With O(state=checked) or O(examine), only these checks (C(fastinstall doctor --list)).
    type: list
    elements: str
    default: []
  quick:
    description: With O(state=checked) or O(examine), look at files only, without running PIL.
    type: bool
    default: false
  fail_on:
    description: With O(state=checked) or O(examine), the least severe finding on which the module fails.
    type: str
    choices: [error, warning, never]
    default: error
attributes:
  check_mode:
    description: Makes the plan and returns it. Unpacks fastinstall itself if needed.
    support: full
  diff_mode:
    description: What is removed, and each step of the plan with its reason.
    support: full
  action_group:
    description: Use C(group/fastinstall.stack.stack) in C(module_defaults).
    support: full
    membership:
      - fastinstall.stack.stack
seealso:
  - module: fastinstall.stack.fastinstall_facts
"""

EXAMPLES = r"""
- name: Set up the stack from a wheelhouse on the host, without a network
  fastinstall.stack.fastinstall:
    new_env: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse
    offline: true

- name: Show what would change in an environment, and why
  fastinstall.stack.fastinstall:
    prefix: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse
    offline: true
  check_mode: true
  diff: true

- name: Fail if the stack is not fast, intact and still installed
  fastinstall.stack.fastinstall:
    state: checked
    prefix: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse
    fail_on: warning

- name: Roll the environment back
  fastinstall.stack.fastinstall:
    state: absent
    prefix: /opt/images
    executable: fastinstall
"""

RETURN = r"""
receipt:
  description: What was set up, C(fastinstall.receipt/1).
  returned: with O(state=present), if not in check mode
  type: dict
  contains:
    id:
      description: Id of the transaction that installed it.
      type: str
      sample: 20260301T120000Z-1a2b3c
    distribution:
      description: Name of the distribution.
      type: str
      sample: pillow
    version:
      description: Its version, with the levels in it.
      type: str
      sample: 13.0.0+simd.v2.v3
    levels:
      description: CPU levels in it, the baseline first.
      type: list
      elements: str
      sample: [x86-64-v2, x86-64-v3]
    speed:
      description: Speed before and after, if it was measured.
      type: dict
plan:
  description: What would be done and why, C(fastinstall.plan/1). Without C(verify) there is nothing to do.
  returned: with O(state=present), in check mode or diff mode
  type: dict
rollback:
  description: What was undone, C(fastinstall.rollback/1).
  returned: with O(state=absent), if there was something to undo
  type: dict
report:
  description: Every finding, C(fastinstall.doctor/1).
  returned: with O(state=checked) or O(examine)
  type: dict
  contains:
    status:
      description: The most severe status of its findings.
      type: str
      sample: ok
    findings:
      description: Each with C(check), C(status), C(message), C(evidence) and C(remedy).
      type: list
      elements: dict
hint:
  description: What to do about the failure in C(msg).
  returned: on failure
  type: str
exit_code:
  description: The exit code of fastinstall. Unless it is 7, the environment is unchanged.
  returned: on failure
  type: int
  sample: 5
details:
  description: Further lines on the failure.
  returned: on failure
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fastinstall.stack.plugins.module_utils.request_options import REQUEST_OPTIONS
from ansible_collections.fastinstall.stack.plugins.module_utils.running import TARGET, TOOL, conclude, request_of
from ansible_collections.fastinstall.stack.plugins.module_utils.states import absent, checked, present

_STATES = {"present": present, "absent": absent, "checked": checked}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "default": "present", "choices": list(_STATES)},
            **TARGET,
            "new_env": {"type": "path"},
            **{name: specification for name, (_flag, specification) in REQUEST_OPTIONS.items()},
            "examine": {"type": "bool", "default": False},
            "checks": {"type": "list", "elements": "str", "default": []},
            "quick": {"type": "bool", "default": False},
            "fail_on": {"type": "str", "default": "error", "choices": ["error", "warning", "never"]},
            **TOOL,
        },
        required_one_of=[("prefix", "new_env", "python")],
        mutually_exclusive=[("prefix", "new_env"), ("level", "levels")],
        supports_check_mode=True,
    )
    conclude(module, lambda: _STATES[module.params["state"]](request_of(module)))


if __name__ == "__main__":
    main()
