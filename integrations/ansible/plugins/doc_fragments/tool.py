"""What the modules that run fastinstall document alike."""

from __future__ import annotations


class ModuleDocFragment:
    """The parameters that say where fastinstall comes from, and what it looks at."""

    DOCUMENTATION = r"""
options:
  prefix:
    description: The environment, by its directory.
    type: path
  python:
    description: The environment, by its interpreter.
    type: path
  executable:
    description: An installed fastinstall to run, by its path or its name on E(PATH), rather than one from a wheelhouse.
    type: str
  tool_python:
    description:
      - The interpreter that runs fastinstall, CPython 3.11 or later.
      - By default the one that Ansible uses on the host, or else C(python3), C(python3.14) down to C(python3.11),
        the first of them that the wheelhouse has fitting wheels for. It need not be the environment's.
    type: path
  tool_directory:
    description:
      - Where fastinstall is unpacked, once for each set of wheels. Nobody else may be able to write there.
      - Default is C(fastinstall/tools) in E(XDG_DATA_HOME), C(~/.local/share) if that is not set.
    type: path
  tool_checksum:
    description:
      - SHA-256 of C(tool/SHA256SUMS) in the wheelhouse, as the controller knows it. Nothing runs that has another one.
      - Without it the wheelhouse must lie where nobody else can write.
    type: str
requirements:
  - python >= 3.8 for the module
  - CPython >= 3.11 on the host for fastinstall itself, which the wheelhouse brings along
notes:
  - fastinstall comes from O(executable), else from C(tool/) in the wheelhouse, else from E(PATH). Its wheels are
    checked against C(SHA256SUMS) and unpacked into a directory of the user's own; no pip runs, and no index is asked.
attributes:
  platform:
    description: The platforms that are served.
    platforms: Linux
    support: full
author:
  - The fastinstall authors (@fastinstall)
"""
