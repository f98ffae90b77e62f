"""The exact flow: `integrate`, its stopping rules, its solution with the table of events, and storage."""
