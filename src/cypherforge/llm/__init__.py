"""Chat and embedding models, cached, budgeted, recorded."""
