"""The language SkriptND: text, syntax, and what expressions mean."""
