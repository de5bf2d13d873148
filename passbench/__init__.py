"""Bench tasks, selection, leakage, running a pass, integrity, scores."""
