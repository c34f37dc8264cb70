"""Three metaheuristics for the transit obfuscation problem, as partitioners of veilroute."""
