"""One way out: what a result says is a value; text, page, notebook, JSON and pictures render it."""
