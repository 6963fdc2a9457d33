"""What evenhand says about a set of options: verdicts in words, and pictures."""
