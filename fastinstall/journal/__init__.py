"""Change an environment so that every change can be undone, even after a kill.

`transaction` writes `entries` to a journal before it makes `moves`, additions or external changes. `undo` reads the
journal with `log` and undoes its `acts`; `foresee` simulates an undo. `rollback` and `forget` handle finished setups,
and `snapshot` reads the state for doctor. A mistake in this package can lose users' files: after editing it, run the
tests that kill the process.
"""
