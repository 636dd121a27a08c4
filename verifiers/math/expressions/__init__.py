"""Short math texts as exact values: notation, units, quantities, shapes."""
