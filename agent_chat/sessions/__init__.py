"""The event log, from which sessions resume."""
