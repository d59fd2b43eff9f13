"""What people see of a robot and of its motion."""
