"""The API for programs: each verb as a function from values to values."""
