"""The kinds of steps that a plan can have, one file each.

A kind's file holds its data, its words in a plan, and its doing. What it changes in an
environment it changes by the transaction that it is given, which undoes it. `kind` says what each must have, and
`kinds` lists them by the stage of a setup at which they work: mypy names what one lacks. In which order the stages come
is told by `apply.orchestrator`; which steps a plan has is decided in `plan`.
"""
