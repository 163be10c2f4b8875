"""The demo pair: its data, its training and its report. Nothing here is needed to decode."""
