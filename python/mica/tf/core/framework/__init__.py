"""Messages of graphs, tensors and summaries."""
