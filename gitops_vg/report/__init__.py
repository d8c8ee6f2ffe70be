"""Every output of the program, each once: a value of a stage in, text or plain data out."""
