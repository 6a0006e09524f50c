"""The whole proof of a recipe: a maintainer's tool, which runs from a clone and is not installed."""
