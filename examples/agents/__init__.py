"""Agents of the field over ten instances on our SWE server, with a scripted model: `python -m examples.agents`."""
