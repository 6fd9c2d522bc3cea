"""Flows: machines declared as classes, and plain functions beside them."""
