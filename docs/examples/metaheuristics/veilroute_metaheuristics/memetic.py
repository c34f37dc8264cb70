"""A memetic algorithm: the grouping genetic algorithm (Falkenauer 1996) with a descent for each child."""

from veilroute_metaheuristics.search import run

NUM_PARENTS = 12


def partition_memetic(problem, task, rule, *, seed, watch, budget=10_000, cpu_s=3600.0):
    return run(evolve, problem, task, rule, seed=seed, watch=watch, budget=budget, cpu_s=cpu_s)


def evolve(search):
    rng, everybody = search.rng, range(search.num)
    population = []
    for _ in range(NUM_PARENTS):
        search.begin()
        population.append(descended(search, rng.sample(everybody, search.num)))
    while search.used() < 1:
        one, other = (min(rng.sample(population, 2), key=total_of) for _ in range(2))  # two tournaments of two
        search.set_to(cross(search, one[1], other[1]))
        child = descended(search, rng.sample(everybody, search.num))
        if child[0] in map(total_of, population):
            child = mutated(search)
        worst = max(range(NUM_PARENTS), key=lambda at: population[at][0])
        if child[0] < population[worst][0] and child[0] not in map(total_of, population):
            population[worst] = child


def total_of(parent):
    return parent[0]


def descended(search, members):
    search.descend(members)
    return round(search.total, 9), list(search.groups.values())


def cross(search, one, other):
    """Half of one parent's groups, those near some candidate, and the other's groups that share nobody with them."""
    near = search.costs.distances[search.rng.randrange(search.num)]
    first = sorted(one, key=lambda group: near[min(group)])[: max(1, len(one) // 2)]
    used = frozenset().union(*first)
    second = [group for group in other if not group & used]
    left = sorted(set(range(search.num)) - used.union(*second))
    size = max(1, search.rule.least)
    return [*first, *second, *(frozenset(left[i : i + size]) for i in range(0, len(left), size))]


def mutated(search):
    """A child whose twin is there already: a tenth of its groups are dealt out again."""
    chosen = search.rng.sample(sorted(search.groups), max(2, len(search.groups) // 10))
    search.deal(chosen)
    return round(search.total, 9), list(search.groups.values())
