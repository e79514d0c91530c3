"""Values that know what they hold."""
