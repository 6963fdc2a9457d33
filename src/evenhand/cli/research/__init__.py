"""The commands of research: simulate, compare and reproduce."""
