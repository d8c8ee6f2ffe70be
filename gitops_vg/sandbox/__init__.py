"""The embedded control plane: a real API server over HTTP that behaves like Karmada with Volcano members."""
