"""Speed against named peers, and the acceptance runs; each script prints its figures and a last line `ratio=`."""
