"""What carries the messages: stdio, HTTP, memory, and the command line."""
