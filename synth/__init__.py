"""Question-Cypher pairs and fault corpora from a graph."""
