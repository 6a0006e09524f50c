"""A reader of the documentation, who does what its pages say."""
