"""``ddtree-tui doctor``: looks at the machine, the pair and its answers, and names what is wrong."""
