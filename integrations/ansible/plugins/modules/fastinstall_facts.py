#!/usr/bin/python
# Licence: MIT, see LICENSE of fastinstall.
"""The Ansible module `fastinstall_facts`, which returns facts of an environment and its machine."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fastinstall_facts
short_description: What fastinstall sees of an environment and its machine
version_added: 0.1.0
description:
  - Returns the facts that every plan is made from (C(fastinstall inspect)), as C(ansible_facts.fastinstall).
  - C(fastinstall plan --hosts DIR) and C(fastinstall build --hosts DIR) read the files that O(dest) writes, and find
    the few wheels that serve all hosts.
extends_documentation_fragment:
  - fastinstall.stack.tool
options:
  wheelhouse:
    description: A directory on the host that contains fastinstall itself (C(fastinstall build --with-tool)).
    type: path
  redact:
    description: Leave out the home directory, the user, the name of the host, and secrets.
    type: bool
    default: false
  dest:
    description: A file on the host to write the facts to, as JSON, for M(ansible.builtin.fetch).
    type: path
attributes:
  check_mode:
    description: Returns the facts and does not write O(dest).
    support: full
  diff_mode:
    description: Facts have no difference to show.
    support: none
  action_group:
    description: Use C(group/fastinstall.stack.stack) in C(module_defaults).
    support: full
    membership:
      - fastinstall.stack.stack
  facts:
    description: Returns C(ansible_facts).
    support: full
seealso:
  - module: fastinstall.stack.fastinstall
"""

EXAMPLES = r"""
- name: Look at an environment
  fastinstall.stack.fastinstall_facts:
    prefix: /opt/images
    wheelhouse: /var/lib/fastinstall/wheelhouse

- name: Show the level of its CPU
  ansible.builtin.debug:
    var: ansible_facts.fastinstall.cpu.level

- name: Write the facts of a host to a file, for a plan for all hosts
  fastinstall.stack.fastinstall_facts:
    python: /usr/bin/python3
    executable: fastinstall
    dest: /var/tmp/fastinstall-facts.json
"""

RETURN = r"""
ansible_facts:
  description: What was seen.
  returned: always
  type: dict
  contains:
    fastinstall:
      description: The document, C(fastinstall.facts/1).
      type: dict
      returned: always
dest:
  description: The file with the facts.
  returned: if O(dest) was given
  type: str
hint:
  description: What to do about the failure in C(msg).
  returned: on failure
  type: str
exit_code:
  description: The exit code of fastinstall.
  returned: on failure
  type: int
details:
  description: Further lines on the failure.
  returned: on failure
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fastinstall.stack.plugins.module_utils.running import TARGET, TOOL, conclude, request_of
from ansible_collections.fastinstall.stack.plugins.module_utils.states import observed


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **TARGET,
            "wheelhouse": {"type": "path"},
            "redact": {"type": "bool", "default": False},
            "dest": {"type": "path"},
            **TOOL,
        },
        required_one_of=[("prefix", "python")],
        supports_check_mode=True,
    )
    conclude(module, lambda: observed(request_of(module)))


if __name__ == "__main__":
    main()
