"""The steps of a plan, in a file those of one purpose: their data, their words in a plan, and their doing.

What a step changes in an environment it changes by the transaction that it is given, which undoes it. `step` has their
base classes. `plan` says in which order they come, `carry_out` has them work.
"""
