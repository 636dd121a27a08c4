"""Rewards for the field's trainers: one module each, which imports its trainer's package inside only.

Each says what becomes of an answer without a verdict; in none is it a reward of 0.
"""
