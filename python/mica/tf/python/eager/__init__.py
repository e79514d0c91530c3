"""Where and how ops run."""
