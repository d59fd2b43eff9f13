"""What a robot is made of: links, joints, loops, beams, masses, materials, places."""
