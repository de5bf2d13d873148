"""Subgraph and device to timing; kernel counting; cost."""
