"""What tests share: values, real environments, servers, machines. A package for each subject."""
