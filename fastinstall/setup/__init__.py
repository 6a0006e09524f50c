"""A setup from top to bottom: look, decide, plan, carry out.

`look` collects the inputs, `decide` makes a `plan` from them, and `carry_out` runs its `steps` after consent.
`recovery` repairs an environment after an interrupted run. `wheel` makes a wheel without installing it.
"""
