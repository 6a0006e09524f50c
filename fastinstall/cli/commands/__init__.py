"""The verbs: one module for each, with `run(arguments, context) -> exit code`; imported only when called."""
