"""Model judges: any callable as an evaluator, with the biases that people fight."""
