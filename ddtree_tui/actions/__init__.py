"""What the user can do, by area: each module holds the keys of its area and the actions they run."""
