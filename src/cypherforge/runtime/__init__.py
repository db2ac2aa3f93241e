"""Draft, fix, gate, execute, answer."""
