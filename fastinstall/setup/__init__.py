"""A setup from top to bottom: look, decide, plan, carry out.

`look` asks what a plan depends on, `decide` turns that into a `plan`, and `carry_out` has its `steps` work once it was
agreed to. `recovery` finishes what a dead run left. `wheel` makes a wheel alone.
"""
