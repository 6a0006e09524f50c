"""A plan for elsewhere: a Dockerfile or a script."""
