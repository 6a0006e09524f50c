"""Change an environment so that every change can be undone, after a kill too.

`transaction` writes `entries` to a journal before it makes `moves`, additions or external changes. `undo` reads the
journal by `log` and takes its `acts` back; `foresee` simulates that. `rollback` and `forget` concern finished setups,
`snapshot` what doctor reads. A mistake here can lose somebody's files: run the tests of deaths after a change.
"""
