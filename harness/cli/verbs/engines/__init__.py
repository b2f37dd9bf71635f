"""What engines and their releases take, and do: learned by trial, and put together from stored runs."""
