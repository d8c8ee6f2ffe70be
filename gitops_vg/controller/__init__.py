"""The stages in a loop: triggers, batches, live watches, health and metrics."""
