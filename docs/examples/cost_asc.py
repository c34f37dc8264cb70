def cost_asc(costs, other_costs, size, other_size, weights):
    dearer = 0.0
    for trip in range(weights.size):
        dearer += weights[trip] * max(costs[trip], other_costs[trip])
    return dearer * (size + other_size)
