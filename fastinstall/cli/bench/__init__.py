"""The report of bench as text, and what its flags ask for."""
