"""The parts of the screen. Each shows a piece of the run model and holds no state of the run itself."""
