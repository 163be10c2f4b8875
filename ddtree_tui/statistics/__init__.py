"""What the rounds of a run say about drafter and speed: sums kept up round by round, never by looking back.

Pure: events in, a ``Report`` out, which the numbers screen and ``ddtree-tui stats`` show alike.
"""
