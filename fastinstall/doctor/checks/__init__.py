"""The checks of doctor: one module per check, which turns facts into findings."""
