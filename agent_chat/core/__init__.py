"""Values and rules: messages, events, outcomes, budgets, permissions, projections, ports. No I/O."""
