"""Watching and using a server from the app: the events come over HTTP instead of a pipe."""
