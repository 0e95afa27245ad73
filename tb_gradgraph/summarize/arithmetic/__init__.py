"""Sums over elements, without anything of ours."""
