"""The steps of a plan: their data, their texts, and the functions that carry them out.

Each module has the steps of one purpose, and `step` their base classes. Steps change an environment only through a
transaction, which can undo the changes. `plan` defines the order of steps, and `carry_out` runs them.
"""
