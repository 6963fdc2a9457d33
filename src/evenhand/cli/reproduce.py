"""`evenhand reproduce`."""


def reproduce() -> None:
    """Coming in a moment."""
