"""Faults that can be planted on purpose, so that every claim of the detectors can be checked.

``catalogue`` says which there are and imports no torch; ``planting`` gives a run a faulty pair; the others
hold the faults, one file per place where they are planted.
"""
