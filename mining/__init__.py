"""Graphs to subgraphs: folding, plateaus, alignment; pure and deterministic."""
