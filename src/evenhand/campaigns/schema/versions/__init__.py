"""The schema's revisions, the oldest first. A released one never changes; a new one is added."""
