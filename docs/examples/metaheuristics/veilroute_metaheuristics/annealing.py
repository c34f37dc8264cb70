"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): moves at random, worse ones less and less often."""

import math

from veilroute_metaheuristics.search import LEFT_OUT, run

HOTTEST, COLDEST = 2.0, 0.01  # temperatures, as a share of what a candidate adds to the sum after a descent
NUM_CYCLES = 10  # of cooling down; each begins with the best partition so far
LEFT_OUT_MEANWHILE = 30.0  # in the same unit: classes of k could hardly change if no one were ever without a class
MOVES_PER_STEP = 50


def partition_annealing(problem, task, rule, *, seed, watch, budget=10_000, cpu_s=3600.0):
    return run(anneal, problem, task, rule, seed=seed, watch=watch, budget=budget, cpu_s=cpu_s)


def anneal(search):
    search.descend(range(search.num))
    scale = sum(share for g in search.groups.values() if (share := search.share(g)) < math.inf) / search.num or 1.0
    best, lowest = list(search.groups.values()), search.total
    for cycle in range(NUM_CYCLES):
        search.left_out = LEFT_OUT_MEANWHILE * scale
        search.set_to(best)
        while (part := search.used() * NUM_CYCLES - cycle) < 1:
            walk(search, scale * HOTTEST * (COLDEST / HOTTEST) ** max(0.0, part))
        search.left_out = LEFT_OUT
        search.set_to(list(search.groups.values()))
        search.descend(range(search.num))
        if search.total < lowest:
            best, lowest = list(search.groups.values()), search.total


def walk(search, temperature):
    """Some moves at one temperature."""
    rng = search.rng
    for _ in range(MOVES_PER_STEP):
        a = rng.randrange(search.num)
        b = rng.choice(search.near[a])
        if search.home[a] != search.home[b]:
            move = rng.choice(search.MOVES)(search, a, b)
            gain = search.gain(move)
            if gain >= 0 or rng.random() < math.exp(gain / temperature):
                search.make(move, gain)
