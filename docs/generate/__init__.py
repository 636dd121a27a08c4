"""The book's reference, generated from the code when it is built; `python -m docs.generate NAME` prints a part."""
