"""The steps of a plan, one file each: its data, its words in a plan, and its doing.

What a step changes in an environment it changes by the transaction that it is given, which undoes it. `step` has their
base classes. `plan` says in which order they come, `carry_out` has them work.
"""
