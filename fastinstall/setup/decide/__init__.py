"""What a setup does, decided from what was looked at. Pure: no clock, environment or disk."""
