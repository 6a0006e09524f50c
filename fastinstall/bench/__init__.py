"""How fast images are loaded here, what bounds it, and what would help: measured on somebody's own images.

Everything that loads is a process of the target's own interpreter; nothing is installed into the target, and what kills
such a process is an answer. A candidate (another PIL, a decoder, a setting of the allocator, a store) is measured in
turn with the environment as it is, A B A B, and its gain is the median of the rounds.

- `adapters/`: one file for each way to decode and resize. `_stores/`: one for each way to keep images. Each says all of
  itself; the package's docstring says what.
- `operations/`: the operations of PIL that are timed one by one.
- Files that begin with an underscore run in the target: standard library and PIL, Python 3.8 or later. Each says its
  protocol.
- All others run here.

Two stacks are timed operation by operation for `setup`, too; there is no advice in that.
"""
