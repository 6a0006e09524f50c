"""Facts, recipe and request to a plan. Pure but for `make`, which asks the index and the engines."""
