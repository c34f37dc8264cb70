"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): moves at random, worse ones less and less often."""

import math

from veilroute_metaheuristics.search import run

HOTTEST = 0.5  # as a share of what a candidate adds to the sum in the first partition
COLDEST = 0.0005
MOVES_PER_STEP = 100


def partition_annealing(problem, task, rule, *, seed, watch, budget=10_000, cpu_s=3600.0):
    return run(anneal, problem, task, rule, seed=seed, watch=watch, budget=budget, cpu_s=cpu_s)


def anneal(search):
    rng = search.rng
    scale = sum(search.score(g) for g in search.groups.values() if search.rule.qualifies(list(g))) / search.num or 1.0
    while (used := search.used()) < 1:
        temperature = scale * HOTTEST * (COLDEST / HOTTEST) ** used
        for _ in range(MOVES_PER_STEP):
            a = rng.randrange(search.num)
            b = rng.choice(search.near[a])
            if search.home[a] == search.home[b]:
                continue
            move = rng.choice(search.MOVES)(search, a, b)
            gain = search.gain(move)
            if gain >= 0 or rng.random() < math.exp(gain / temperature):
                search.make(move, gain)
    search.descend(range(search.num))
