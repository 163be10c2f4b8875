"""One prompt decoded in several ways side by side: lanes, how they stand, where their texts part."""
