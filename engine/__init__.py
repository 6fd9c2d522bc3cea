"""The sans-I/O core: messages, questions, sealing, rounds, and the two ends of a call."""
