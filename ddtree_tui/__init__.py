"""A terminal app that decodes with draft trees and shows every round."""

__version__ = "0.1.0"
