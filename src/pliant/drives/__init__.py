"""What moves the actuated joints, one module per kind: given torques, controllers, callbacks, prescribed motion."""
