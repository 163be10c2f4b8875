"""The engine behind OpenAI's HTTP interface."""
