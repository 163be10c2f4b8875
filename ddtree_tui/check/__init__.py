"""``ddtree-tui check``: is an answer what the target alone writes?"""
