"""Model id to graph, or a reasoned failure: sources, tracer, canonical hash, text, cut, validation."""
