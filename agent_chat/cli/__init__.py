"""Commands and options, and the wiring of everything that they start."""
