"""What moves the actuated joints: given torques, controllers, feed-forward, callbacks, prescribed motion."""
