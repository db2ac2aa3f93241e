"""Which fault a draft has, and the repair it implies."""
