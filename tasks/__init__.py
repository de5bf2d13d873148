"""One shard of work each: read, one call, write, short report."""
