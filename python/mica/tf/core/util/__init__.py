"""Messages of event files."""
