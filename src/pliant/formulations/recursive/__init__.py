"""The recursive method: articulated flexible bodies, O(links), after Mohan & Saha and Briot & Khalil."""
