"""Run the core against the twin on many seeds and print how often they disagree.

python tests/stress.py 100                  # seeds 0..99 of every family
python tests/stress.py 100:300 crowded flat # seeds 100..299 of two families
python tests/stress.py 100 --bad out.txt    # also write every disagreement to a file
"""

from __future__ import annotations

import argparse
import time

import agree
import families
import twin


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("seeds", help="a count, or first:last")
    p.add_argument("families", nargs="*", default=list(families.FAMILIES))
    p.add_argument("--bad", default=None, help="file for the disagreements")
    return p.parse_args()


def one(family: str, seed: int) -> tuple[str, str]:
    try:
        fault = agree.check(families.make(family, seed))
    except twin.UndecidedError as e:
        return "undecided", str(e)
    except Exception as e:
        return "bad", f"{type(e).__name__}: {e}"
    return ("good", "") if fault is None else ("bad", fault)


def main() -> None:
    args = parse()
    first, _, last = args.seeds.rpartition(":")
    seeds = range(int(first or 0), int(last))
    for family in args.families or list(families.FAMILIES):
        began = time.perf_counter()
        found: dict[str, list[int]] = {"good": [], "bad": [], "undecided": []}
        for seed in seeds:
            verdict, text = one(family, seed)
            found[verdict].append(seed)
            if verdict == "bad" and args.bad:
                with open(args.bad, "a") as out:
                    out.write(f"=== {family} {seed}\n{text}\n")
        seconds = (time.perf_counter() - began) / len(seeds)
        print(
            f"{family:14} good {len(found['good']):4}  bad {len(found['bad']):3} {found['bad'][:12]}"
            f"  undecided {found['undecided'][:6]}  {seconds:.2f} s each",
            flush=True,
        )


if __name__ == "__main__":
    main()
