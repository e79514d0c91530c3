"""Messages of records."""
