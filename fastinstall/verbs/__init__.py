"""What a program would call: each verb as a function from values to values."""
