"""What a robot does near one configuration: equilibrium, natural modes, linear models and their zeros."""
