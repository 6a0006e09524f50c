"""Turn facts, a recipe and a request into a plan. Pure except `make`, which asks the index and the engines."""
