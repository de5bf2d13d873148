"""Flows, the command line and the order of the steps."""
