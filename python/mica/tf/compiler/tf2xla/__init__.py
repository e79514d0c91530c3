"""The bridge to XLA."""
