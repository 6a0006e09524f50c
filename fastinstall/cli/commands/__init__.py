"""One file per verb, each with `run(arguments, context) -> exit code`; imported only when it is called."""
