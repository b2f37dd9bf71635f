"""Variants: one case under configurations and layouts that must not change its outcome (techniques T4, T19, T20)."""
