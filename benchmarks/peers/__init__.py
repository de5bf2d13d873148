"""Other ways to do the same work, measured beside ours in the same run."""
