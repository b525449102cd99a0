#!/usr/bin/env python3
"""Do `paceline check` and the JSON Schemas that it prints give the same verdict?

Mutates valid files of every kind with a fixed seed, has all mutants checked by one `paceline check`,
and compares with jsonschema (draft 2020-12):

  invalid by the schema           must be refused
  valid, and accepted             agrees
  valid, but refused              every fault must be one of CROSS_FIELD, which no schema can state;
                                  counted apart
  not JSON (truncated, key twice) must be refused

Usage: schema_agreement.py PACELINE SOURCE_DIRECTORY. Exits 77 (skipped) without jsonschema.
"""

import collections
import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is missing (apt-get install python3-jsonschema)")
    sys.exit(77)

SEED = 20260601
MUTANTS_PER_FILE = 100
TEXT_MUTANTS_PER_FILE = 5

BASES = [  # kind, file
    ("experiment", "tests/cli/good_files/experiment.json"),
    ("experiment", "docs/examples/digits_2.json"),
    ("cluster", "tests/cli/good_files/cluster_of_nodes.json"),
    ("cluster", "tests/cli/good_files/cluster_of_cpus.json"),
    ("cluster", "hardware_profiles/clusters/tesla.json"),
    ("node", "tests/cli/good_files/small_node.json"),
    ("node", "hardware_profiles/nodes/dgx1_v100.json"),
    ("gpu", "tests/cli/good_files/sample_card.json"),
    ("gpu", "hardware_profiles/gpus/h200.json"),
    ("ambiguous_names", "tests/cli/good_files/ambiguous_names.json"),
    ("experiment", "tests/cli/good_files/mixed.json"),
    ("framework", "models/frameworks/pytorch_ddp_1.12.json"),
    ("zoo", "tests/cli/good_files/zoo.json"),
    ("report", "tests/cli/good_files/report.json"),
    ("measurements", "tests/cli/good_files/measurements.json"),
    ("trace", "tests/cli/good_files/trace.json"),
]

# What the reader refuses beyond the schema: values against each other, or against other files.
CROSS_FIELD = {  # pattern of the message: rule
    r"which is not declared in `sources`": "a source is one that the file declares",
    r"must be the file's name": "a profile's id is its file's name",
    r"which is no device of this node": "a link joins devices of its node",
    r"twice \(a link joins two": "a link joins two different devices",
    r"which is given twice|the name .* is given twice": "ids differ",
    r"has no rate \(give": "a link has a rate or a measured table",
    r"does not belong to a ": "a key belongs to its kind",
    r"the key \"cpu_device\" is missing \(a cpu_rank": "a cpu_rank names its CPU",
    r"not in the cluster's `cpu_devices`": "a cpu_rank names a CPU of the file",
    r"\(must rise\)|\(sizes must rise\)": "levels and sizes rise",
    r"all_cpu_ranks": "a link between all CPU ranks has several, once",
    r"no way from ": "all slots are joined",
    r"names no node|stands beside \"node\"": "a node is named or written inline, never both",
    r"no node \"": "a node is one that a file describes",
    r"no GPU is called|fits several cards": "a card is one that a file describes",
    r"empty slot|has no slot": "cards fill the empty slots of a node",
    r"hold no device that a rank|hold \d+ devices|more links and measured": "a cluster has a size",
    r"got \"none\" with \d+ nodes|needs it\)|has no device of kind nic":
        "a fabric has what its kind needs",
    r"got .*, which no link of node": "an override names a link of its node",
    r"nodes count from 0|changes a port, but": "an override names a node or port that is there",
    r"got \d+ \(must be <= ranks, ": "a group has no more nodes than ranks",
    r"has two rates|changes nothing": "an override states one rate or a latency",
    r"got \".*\" \(must be one of `switches`": "a drawn link joins what is there",
    r"must divide |must be a multiple of ": "heads divide the width, patches the image",
    r"the devices that \"cluster\" lists": "no more ranks than devices",
    r"needs either \"devices\"": "an inline cluster is a list or a count",
    r"has no meaning for paceline": "a framework's keys are its own",
    r"must be one value, or one for each of": "as many micro-batches as ranks",
    r"has no path \(give": "a data set that is not synthetic has a folder",
    r"one step holds at most|more than 1e18 FLOPs|64 bits": "a step is countable",
    r"which is the id of no gpu file": "an ambiguous name means cards that files describe",
    r"^phases of rank|^ranks stand for|measured by one rank alone": "a report adds up",
    r"the world_size of distributedInfo": "a trace's ranks are of its world",
}


def without_comments(text: str) -> str:
    """JSON text without // comments; strings stay."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda m: m[1] or "", text)


def places(value, path=()):
    """Every place of a document, the root first."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    if isinstance(value, list):
        for index in range(len(value)):
            yield from places(value[index], path + (index,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


WRONG_UNITS = {"_us": "_ms", "_gib": "_gb", "_gb_per_s": "_mb_per_s", "_gbit_per_s": "_gb_per_s",
               "_mib": "_mb", "_bytes": "_gib", "_mhz": "_ghz", "_w": "_kw"}


def misspelt(word: str, rng: random.Random) -> str:
    if len(word) < 2:
        return word + "x"
    i = rng.randrange(len(word) - 1)
    return rng.choice([word[:i] + word[i + 1:], word[:i] + word[i + 1] + word[i] + word[i + 2:],
                       word + "s", word.upper()])


def mutate_key(owner: dict, key: str, rng: random.Random) -> None:
    """Renames, removes or doubles a key of an object, in its place."""
    choice = rng.choice(["remove", "misspell", "unit", "add"])
    if choice == "remove":
        del owner[key]
        return
    new = misspelt(key, rng)
    if choice == "unit":
        for ours, other in WRONG_UNITS.items():
            if key.endswith(ours):
                new = key[: -len(ours)] + other
    if choice == "add":
        owner["surplus_" + new] = owner[key]
        return
    items = [(new if k == key else k, v) for k, v in owner.items()]
    owner.clear()
    owner.update(items)


def changed(value, rng: random.Random):
    """Another value for a place that holds `value`."""
    any_kind = [None, True, False, 0, 1, -1, 1.5, 2.0, "", "word", [], {}, [1], {"a": 1}]
    if isinstance(value, bool):
        return rng.choice(any_kind + [not value] * 4)
    if isinstance(value, (int, float)):
        return rng.choice(any_kind + [-value, value * 2, value + 1, float(value), str(value), 1e30,
                                      10**9, 2**63, -(2**63) - 1, 2**64, value / 3, 1e-9, [value]])
    if isinstance(value, str):
        return rng.choice(any_kind + [misspelt(value, rng)] * 4 + [value + "/x", [value]])
    if isinstance(value, list):
        longer = value + [copy.deepcopy(rng.choice(value))] if value else [0]
        return rng.choice(any_kind + [longer, longer, value[:-1], value[::-1], [value],
                                      value + [None]])
    return rng.choice(any_kind + [[value], {**value, "more": 1}])


def mutant(base, rng: random.Random):
    document = copy.deepcopy(base)
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice(list(places(document)))
        if not path:
            if rng.random() < 0.1:
                return changed(document, rng)
            continue
        owner = at(document, path[:-1])
        if isinstance(owner, dict) and rng.random() < 0.35:
            mutate_key(owner, path[-1], rng)
        elif isinstance(owner, list) and rng.random() < 0.2:
            del owner[path[-1]]
        else:
            owner[path[-1]] = changed(owner[path[-1]], rng)
    return document


def text_mutant(text: str, rng: random.Random) -> str:
    """A text that is no JSON, or gives a key twice."""
    cut = rng.randrange(1, len(text) - 2)
    stripped = text.lstrip()
    return rng.choice([
        text[:cut],
        "{\"schema\": \"paceline/gpu/1\", " + stripped[1:],
        stripped.replace(":", "=", 1),
        stripped.replace('"', "'"),
        stripped.rstrip()[:-1] + ",}",
        text + "}",
    ])


class KeyTwice(ValueError):
    pass


def once(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise KeyTwice("a key is given twice")
    return dict(pairs)


def parsed(text: str):
    """The document, or None where the text is no JSON."""
    try:
        return (json.loads(text, object_pairs_hook=once),)
    except ValueError:
        return None


def validators(program: str) -> dict:
    found = {}
    for kind in {kind for kind, _ in BASES}:
        ran = subprocess.run([program, "check", "--schema", kind], capture_output=True, text=True,
                             check=True)
        schema = json.loads(ran.stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        found[kind] = jsonschema.Draft202012Validator(schema)
    return found


def checked(program: str, folder: pathlib.Path, names: list[str]) -> dict[str, list[str]]:
    """The faults of each file by its name, from one run."""
    ran = subprocess.run([program, "check", *names], cwd=folder, capture_output=True, text=True,
                         check=False)
    if ran.returncode not in (0, 2):
        sys.exit(f"paceline check ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    faults = {name: None for name in names}
    for line in ran.stdout.splitlines():
        faults[line.split()[1]] = []
    for line in ran.stderr.splitlines():
        place, _, problem = line.partition(": ")
        name = place.partition("#")[0]
        if name not in faults:
            sys.exit(f"a fault that names none of the files: {line}")
        faults[name] = (faults[name] or []) + [problem]
    return faults


def rule_of(problem: str):
    for pattern, rule in CROSS_FIELD.items():
        if re.search(pattern, problem):
            return rule
    return None


def main() -> int:
    program, source = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    rng = random.Random(SEED)
    schemas = validators(program)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        made = {}  # name: kind, text

        def add(kind, base, text):
            name = f"{len(made):04d}/{pathlib.Path(base).name}"
            (folder / name).parent.mkdir()
            (folder / name).write_text(text)
            made[name] = (kind, text)

        for kind, base in BASES:
            text = without_comments((source / base).read_text())
            document = json.loads(text)
            add(kind, base, text)
            for _ in range(MUTANTS_PER_FILE):
                add(kind, base, json.dumps(mutant(document, rng)))
            for _ in range(TEXT_MUTANTS_PER_FILE):
                add(kind, base, text_mutant(text, rng))
        faults = checked(program, folder, list(made))

    wrong = []
    counts = collections.Counter()
    rules = collections.Counter()
    by_kind = collections.Counter()
    for name, (kind, text) in made.items():
        problems = faults[name]
        document = parsed(text)
        by_kind[kind] += 1
        if problems is None:
            wrong.append(f"{name}: no verdict")
        elif document is None:
            counts["not JSON, refused"] += 1
            if not problems:
                wrong.append(f"{name}: accepted, but is no JSON: {text[:200]}")
        elif not schemas[kind].is_valid(document[0]):
            counts["invalid by the schema, refused"] += 1
            if not problems:
                error = jsonschema.exceptions.best_match(schemas[kind].iter_errors(document[0]))
                wrong.append(f"{name}: accepted, but the {kind} schema refuses: "
                             f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        elif not problems:
            counts["valid, accepted"] += 1
        else:
            counts["valid by the schema, refused across fields"] += 1
            for problem in problems:
                rule = rule_of(problem)
                if rule is None:
                    wrong.append(f"{name}: the {kind} schema accepts, refused: {problem[:300]}")
                else:
                    rules[rule] += 1

    print(f"{len(made)} files of {len(by_kind)} kinds: "
          + ", ".join(f"{kind} {count}" for kind, count in sorted(by_kind.items())))
    for what, count in sorted(counts.items()):
        print(f"  {count:5d}  {what}")
    print("faults across fields, by rule:")
    for rule, count in sorted(rules.items()):
        print(f"  {count:5d}  {rule}")
    for line in wrong:
        print("WRONG " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
