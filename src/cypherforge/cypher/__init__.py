"""The Cypher language."""
