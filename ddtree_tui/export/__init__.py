"""Runs and rounds as files for other programs. Pure: a run goes in, text comes out; no screen is needed."""
