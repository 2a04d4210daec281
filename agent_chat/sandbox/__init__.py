"""Running other programs: confined as far as this machine can, bounded, and never outliving us."""
