"""Stratify, collect, write, check, prove, bundle."""
