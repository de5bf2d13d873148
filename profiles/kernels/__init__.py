"""Kernel counts of torch programs: planned by Inductor's scheduler, called by its wrapper, launched on a device."""
