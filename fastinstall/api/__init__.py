"""The verbs: inspect, plan, apply, doctor, rollback, guard, build, bench.

They take values and return values, talk outward through `Session.emit`, and never print. The
command line is one user of them; a script may be another.
"""
