"""Street networks: from raw ways to a graph, from coordinates to junctions, from routes to directions."""
