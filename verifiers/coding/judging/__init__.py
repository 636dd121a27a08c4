"""Verdicts on what programs did: by output, by function, by checker; signs of tampering; the wire's report."""
