"""Variable neighbourhood search (Mladenovic and Hansen 1997): shake more and more, descend, keep what is better."""

from veilroute_metaheuristics.search import LEAST_GAIN, run

MOST_SHAKEN = 6  # groups


def partition_vns(problem, task, rule, *, seed, watch, budget=10_000, cpu_s=3600.0):
    return run(shake_and_descend, problem, task, rule, seed=seed, watch=watch, budget=budget, cpu_s=cpu_s)


def shake_and_descend(search):
    search.descend(search.rng.sample(range(search.num), search.num))
    size = 2
    while search.used() < 1:
        before, total = list(search.groups.values()), search.total
        shake(search, size)
        if search.total < total - LEAST_GAIN:
            size = 2
        else:
            search.set_to(before, total)
            size = size + 1 if size < MOST_SHAKEN else 2


def shake(search, num_groups):
    """Deal the members of some neighbouring groups out again."""
    numbers = [search.home[search.rng.randrange(search.num)]]
    while len(numbers) < num_groups:
        nearby = {search.home[j] for n in numbers for i in search.groups[n] for j in search.near[i]}
        nearby = sorted(nearby.difference(numbers))
        if not nearby:
            break
        numbers.append(search.rng.choice(nearby))
    search.deal(numbers)
