"""The wizard: questions to a person at a terminal that lead to a plan."""
