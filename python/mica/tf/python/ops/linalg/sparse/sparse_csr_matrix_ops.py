"""Products of sparse matrices in compressed rows. None of them is there yet."""
