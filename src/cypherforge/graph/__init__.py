"""Graphs: schema, engines, values, results compared."""
