"""The gate: is this query safe, and does it fit the schema."""
