"""Programs of a plan: how sources are compiled and started, checkers and interactors, files that are fetched."""
