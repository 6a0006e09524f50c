"""What keeps the stack in place: the start-up guard, and pins of environments and of their projects."""
