"""One file a verb, each with `run(arguments, context) -> exit code`; imported only when it is called."""
