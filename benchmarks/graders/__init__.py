"""Ways to grade a program, each in a process of its own: ours, and those that share an interpreter with the candidate.

A grader here is a module run with `python -m`. A peer's reads one `Job` as JSON from standard input; all of them answer
by exit code only (`verdict.py`), because whatever else they share with a hostile program could be forged by it.
"""
