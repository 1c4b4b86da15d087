"""The help of commands, made of the dataclasses of their options."""
