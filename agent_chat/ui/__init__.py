"""What people see and type. Knows events, never the engine."""
