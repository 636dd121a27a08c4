"""The settings of each feature: one small model per file, all of them assembled in `sandbox_gym.config`.

Imports nothing but `limits` and `network`, so that every layer may take its own group.
"""
