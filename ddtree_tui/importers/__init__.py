"""What other systems recorded of speculative decoding, as events: one file per source.

Nothing from an imported file is ever executed, imported or called; see ``pickle_data``.
"""
