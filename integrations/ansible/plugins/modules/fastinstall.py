#!/usr/bin/python
# Licence: MIT, see LICENSE of fastinstall.
"""The module `fastinstall`: parameters in, a result out; the work is that of its neighbours in module_utils."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fastinstall
short_description: The fast Python image stack in an environment
version_added: 0.1.0
description:
  - Puts Pillow with SIMD kernels, proven and guarded, into a Python environment (C(fastinstall setup)), puts it back as
    it was (C(fastinstall rollback)), or checks it (C(fastinstall doctor)).
  - A host needs no index and no compiler where a wheelhouse lies on it. C(fastinstall build --with-tool -o DIR) makes
    one, with fastinstall itself in it.
  - What is left at its default may also be set on the host, by C(FASTINSTALL_*) variables or C(fastinstall.toml).
extends_documentation_fragment:
  - fastinstall.stack.tool
options:
  state:
    description:
      - V(present) sets the stack up as it is wished for. Where it is in place and intact, nothing changes.
      - V(absent) puts the environment back as it was before the first setup that can be undone.
      - V(checked) runs the checks and changes nothing; the module fails if they find something as grave as O(fail_on).
    type: str
    choices: [present, absent, checked]
    default: present
  new_env:
    description: The environment, by a directory in which it is made if there is nothing yet.
    type: path
  python:
    description:
      - The environment, by its interpreter.
      - With O(new_env) the interpreter that makes it; default is the one that runs fastinstall.
    type: path
  recipe:
    description: What to build (C(fastinstall recipes list)).
    type: str
    default: pillow-merged
  version:
    description: Version of the source; default is the newest that fits.
    type: str
  level:
    description:
      - One CPU level, V(x86-64-v2), V(x86-64-v3), V(x86-64-v4) or V(native).
      - V(auto) for O(levels) as suits the host.
    type: str
    default: auto
  levels:
    description: Several CPU levels in one wheel, of which the loader takes the best (glibc 2.33 or later).
    type: list
    elements: str
    default: []
  require:
    description: Libraries that the build must have, for example V(webp).
    type: list
    elements: str
    default: []
  link:
    description: Bundle libraries, or link to those of the environment or of the system.
    type: str
    choices: [bundle, env, system]
    default: bundle
  dist_name:
    description: Name of the distribution that is made.
    type: str
    choices: [pillow, pillow-simd]
    default: pillow
  jobs:
    description: Parallel compile jobs; default is one for each CPU that is granted.
    type: int
  offline:
    description: Never use the network.
    type: bool
    default: false
  wheelhouse:
    description: A directory on the host. Source distributions and wheels are taken from there, and fastinstall itself.
    type: path
  with_system_deps:
    description: Install missing system packages.
    type: bool
    default: false
  toolchain:
    description: Which compiler, V(clang) of the package index, V(system), or V(conda) packages in a private prefix.
    type: str
    choices: [auto, system, clang, conda]
    default: auto
  engine:
    description: Who installs into a conda environment, conda, rattler (py-rattler), or pip for a plain wheel.
    type: str
    choices: [auto, conda, rattler, pip]
    default: auto
  channels:
    description: Conda channels for what else is needed; default is as conda is configured.
    type: list
    elements: str
    default: []
  guard:
    description: Install the guards, which notice when another tool replaces the stack.
    type: bool
    default: true
  pin:
    description: Also pin it in the environment's configuration. That holds back security updates of Pillow too.
    type: bool
    default: false
  upgrade:
    description: Look for a later version even if all is well.
    type: bool
    default: false
  allow:
    description: Named risks to accept. With O(state=absent) V(force-remove) moves aside what has replaced the stack.
    type: list
    elements: str
    choices: [force-remove, vulnerable, feature-loss, downgrade, unverified-cpu, protected-packages]
    default: []
  examine:
    description:
      - With O(state=present), run the checks afterwards, in the same task.
      - As with V(checked), the module fails if they find something as grave as O(fail_on). What was set up stays.
    type: bool
    default: false
  checks:
    description: With O(state=checked) or O(examine), only these checks (C(fastinstall doctor --list)).
    type: list
    elements: str
    default: []
  quick:
    description: With O(state=checked) or O(examine), judge by files alone, without use of PIL.
    type: bool
    default: false
  fail_on:
    description: With O(state=checked) or O(examine), from which finding on the module fails.
    type: str
    choices: [error, warning, never]
    default: error
attributes:
  check_mode:
    description: Makes the plan and returns it. fastinstall itself is unpacked where it was not yet.
    support: full
  diff_mode:
    description: What goes, against each step of the plan with its reason.
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

- name: See what would be done to an environment, and why
  fastinstall.stack.fastinstall:
    prefix: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse
    offline: true
  check_mode: true
  diff: true

- name: Fail where the stack is not fast, whole and still ours
  fastinstall.stack.fastinstall:
    state: checked
    prefix: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse
    fail_on: warning

- name: Put the environment back as it was
  fastinstall.stack.fastinstall:
    state: absent
    prefix: /opt/images
    executable: fastinstall
"""

RETURN = r"""
receipt:
  description: What is set up, C(fastinstall.receipt/1).
  returned: with O(state=present), if not in check mode
  type: dict
  contains:
    id:
      description: Of the transaction that brought it.
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
      description: Before and after, where it was measured.
      type: dict
plan:
  description: What would be done and why, C(fastinstall.plan/1). There is nothing to do if its C(steps) are empty.
  returned: with O(state=present), in check mode or with a difference
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
      description: The gravest status of its findings.
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
  description: The exit code of fastinstall. The environment is as it was before, unless it is 7.
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
from ansible_collections.fastinstall.stack.plugins.module_utils.running import TARGET, TOOL, conclude, request_of
from ansible_collections.fastinstall.stack.plugins.module_utils.states import absent, checked, present
from ansible_collections.fastinstall.stack.plugins.module_utils.wishes import WISHES

_STATES = {"present": present, "absent": absent, "checked": checked}


def main() -> None:
    """Bring an environment to a state."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "default": "present", "choices": list(_STATES)},
            **TARGET,
            "new_env": {"type": "path"},
            **{name: specification for name, (_flag, specification) in WISHES.items()},
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
