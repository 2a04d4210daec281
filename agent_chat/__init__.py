"""A terminal chat agent whose loop people can see, stop, resume and trust."""

__version__ = "0.1.0"
