"""What the doctor knows of a machine and of a pair before anything is decoded, and how it ranks causes."""
