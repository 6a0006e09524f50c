"""Code that tests share, in one package per subject: values, real environments, servers, machines."""
