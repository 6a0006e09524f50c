"""What a plan's steps do: each file is one kind of step. Slow parts prepare; only the swap touches."""
