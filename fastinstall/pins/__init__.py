"""Pins of a project: its manifest and lock say that its own tool keeps the stack.

- `tools/`: one module with one class for each tool (uv, poetry, pdm, pixi, hatch); `tool` says what such a class has.
- `recognition`: whose project an environment belongs to; `state`: the pin that is there, and what is wrong with it.
- `pinning`, `trial`, `resolver`: a pin is tried on a copy, and then made.
- `files`: manifest, lock and record changed in steps that a death does not break.

No pins of pip or conda: those lie in the environment, not in a project.
"""
