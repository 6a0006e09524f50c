"""Documentation of the parameters that the modules share."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of the parameters that name fastinstall and the environment."""

    DOCUMENTATION = r"""
options:
  prefix:
    description: The environment, by its directory.
    type: path
  python:
    description: The environment, by its interpreter.
    type: path
  executable:
    description: An installed fastinstall to run instead of one from a wheelhouse, by its path or its name on E(PATH).
    type: str
  tool_python:
    description:
      - The interpreter that runs fastinstall, CPython 3.11 or later.
      - The default is the first for which the wheelhouse has wheels, of the one that Ansible uses on the host,
        C(python3), and C(python3.14) down to C(python3.11). It need not be the environment's.
    type: path
  tool_directory:
    description:
      - Where to unpack fastinstall, once for each set of wheels. Nobody else may be able to write there.
      - The default is C(fastinstall/tools) in E(XDG_DATA_HOME), or in C(~/.local/share) if that is not set.
    type: path
  tool_checksum:
    description:
      - SHA-256 of C(tool/SHA256SUMS) in the wheelhouse, as the controller knows it. The module refuses any other.
      - Without it, nobody else may be able to write to the wheelhouse.
    type: str
requirements:
  - python >= 3.8 for the module
  - CPython >= 3.11 on the host for fastinstall itself, which comes in the wheelhouse
notes:
  - fastinstall comes from O(executable), else from C(tool/) in the wheelhouse, else from E(PATH). The module checks its
    wheels against C(SHA256SUMS) and unpacks them into a directory of the user, without pip or an index.
attributes:
  platform:
    description: The supported platforms.
    platforms: Linux
    support: full
author:
  - The fastinstall authors (@fastinstall)
"""
