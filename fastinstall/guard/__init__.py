"""Keep the stack in place: the start-up guard, and pins of environments."""
