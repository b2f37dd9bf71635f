"""What must hold when processes are killed, tasks run twice, and a run goes on for a day; a command for each."""
