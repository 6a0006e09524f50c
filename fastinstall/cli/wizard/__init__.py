"""The wizard: it asks a person at a terminal until the person agrees to a plan, and returns that plan."""
