"""Variants: one case under configurations and layouts that must not change its outcome."""
