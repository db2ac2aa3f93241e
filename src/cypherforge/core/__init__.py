"""The cellar: errors, datasets, executor, progress, files."""
