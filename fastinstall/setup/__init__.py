"""Set up the stack in an environment: collect facts, decide what to do, make a plan, carry it out.

`look` collects the inputs, `decide` makes a `plan` from them, and `carry_out` runs its `steps` after consent.
`recovery` recovers an environment after an interrupted run. `wheel` makes a wheel without installing it.
"""
