"""The code in a model's answer: one file or several."""
