"""A report as lines of text graphics, one panel per file: what the numbers screen shows. Pure."""
