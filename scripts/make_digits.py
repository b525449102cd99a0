#!/usr/bin/env python3
"""Convert scikit-learn's handwritten digits to the CIFAR-10 binary layout.

The 1797 images (8x8 pixels, values 0..16) ship inside scikit-learn, so nothing is downloaded.
One record is 1 label byte and 3072 pixel bytes: 3 equal channels of 32x32, channel-major and
row-major.  Images are enlarged bilinearly (half-pixel centres, edges clamped): with nearest
neighbour every 4x4 patch of a Vision Transformer would be constant, so the patch embedding
would see one independent value per patch instead of its intensity and slope.  (A small ViT after
15 epochs, test accuracy: patch 4, 0.78 and 0.81 against 0.29 and 0.29; patch 8, 0.92 and 0.88
against 0.67 and 0.57.)

The split is stratified by digit, not by writer: train and test share writers.  All pixel
arithmetic is in integers and all order comes from random.Random(seed).random(), whose sequence
Python guarantees, so every machine writes the same bytes.

Exit status: 0 written, 2 wrong usage, missing scikit-learn, unexpected data or failed write.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

SPLIT_SEED = 20240501
TEST_FRACTION = 0.2
SOURCE_SIDE = 8
SOURCE_MAX = 16
SCALE = 4
SIDE = SOURCE_SIDE * SCALE
CHANNELS = 3
CLASSES = 10
SAMPLES = 1797
SOURCE = (
    "scikit-learn sklearn.datasets.load_digits: test part of the UCI set 'Optical Recognition "
    "of Handwritten Digits' (E. Alpaydin, C. Kaynak, 1998), bilinear 8x8 to 32x32"
)
MISSING_SKLEARN = (
    "scikit-learn is missing in {python} ({error}). Install it with `pip install scikit-learn`, "
    "or with `apt-get install python3-sklearn` and run this script with /usr/bin/python3."
)


class DigitsError(Exception):
    """The data set cannot be made; the message says why."""


class Sample(NamedTuple):
    label: int
    pixels: bytes  # one channel, SIDE x SIDE, row-major

    def record(self) -> bytes:
        return bytes([self.label]) + self.pixels * CHANNELS


def load_source() -> tuple[list[list[list[int]]], list[int]]:
    """Return the images, as rows of integers, and the labels."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise DigitsError(MISSING_SKLEARN.format(python=sys.executable, error=error)) from error
    digits = load_digits()
    if digits.images.shape != (SAMPLES, SOURCE_SIDE, SOURCE_SIDE):
        raise DigitsError(
            f"load_digits gave images of shape {digits.images.shape}, "
            f"expected {(SAMPLES, SOURCE_SIDE, SOURCE_SIDE)}"
        )
    images = digits.images.astype(int).tolist()
    labels = digits.target.astype(int).tolist()
    if not all(0 <= value <= SOURCE_MAX for image in images for row in image for value in row):
        raise DigitsError(f"load_digits gave a pixel outside 0..{SOURCE_MAX}")
    if set(labels) != set(range(CLASSES)):
        raise DigitsError(f"load_digits gave other labels than 0..{CLASSES - 1}")
    return images, labels


def interpolation_taps() -> list[tuple[int, int, int]]:
    """For each output coordinate: lower and upper source index, and the upper one's weight.

    The weight is in units of 1 / (2 * SCALE).
    """
    taps = []
    for output in range(SIDE):
        position = 2 * output + 1 - SCALE  # source coordinate in units of 1 / (2 * SCALE)
        index, weight = divmod(position, 2 * SCALE)
        taps.append((max(index, 0), min(index + 1, SOURCE_SIDE - 1), weight))
    return taps


def enlarge(image: list[list[int]], taps: list[tuple[int, int, int]]) -> bytes:
    """Enlarge one image to SIDE x SIDE and scale its values to 0..255, rounding half up."""
    unit = 2 * SCALE
    wide = [[row[a] * (unit - w) + row[b] * w for a, b, w in taps] for row in image]
    divisor = SOURCE_MAX * unit * unit
    pixels = bytearray()
    for a, b, w in taps:
        for upper, lower in zip(wide[a], wide[b]):
            value = upper * (unit - w) + lower * w
            pixels.append((value * 255 + divisor // 2) // divisor)
    return bytes(pixels)


def shuffled(items: Iterable[Any], rng: random.Random) -> list[Any]:
    return sorted(items, key=lambda _: rng.random())


def split(labels: list[int]) -> tuple[list[int], list[int]]:
    """Return shuffled train and test indices; each digit has the same share in both."""
    rng = random.Random(SPLIT_SEED)
    train: list[int] = []
    test: list[int] = []
    for digit in range(CLASSES):
        members = shuffled((i for i, label in enumerate(labels) if label == digit), rng)
        test_count = round(len(members) * TEST_FRACTION)
        test += members[:test_count]
        train += members[test_count:]
    return shuffled(train, rng), shuffled(test, rng)


def permute_labels(samples: list[Sample], seed: int) -> list[Sample]:
    labels = shuffled((sample.label for sample in samples), random.Random(seed))
    return [Sample(label, sample.pixels) for label, sample in zip(labels, samples)]


def pixel_statistics(samples: list[Sample]) -> tuple[float, float]:
    """Return mean and standard deviation of the pixels, in units of full scale."""
    count = len(samples) * SIDE * SIDE
    total = sum(sum(sample.pixels) for sample in samples)
    squares = sum(value * value for sample in samples for value in sample.pixels)
    deviation = math.sqrt(squares * count - total * total) / count
    return round(total / count / 255, 8), round(deviation / 255, 8)


def manifest(train: list[Sample], test: list[Sample], label_seed: int | None) -> dict[str, Any]:
    mean, deviation = pixel_statistics(train)
    control = "" if label_seed is None else f"; control: train labels permuted, seed {label_seed}"
    return {
        "schema": "paceline/dataset/1",
        "name": "digits" if label_seed is None else "digits_shuffled_labels",
        "classes": CLASSES,
        "image_size": SIDE,
        "channels": CHANNELS,
        "format": "cifar10_binary",
        "train": {"file": "train.bin", "samples": len(train)},
        "test": {"file": "test.bin", "samples": len(test)},
        "mean": [mean] * CHANNELS,
        "std": [deviation] * CHANNELS,
        "source": SOURCE + control,
    }


def write_atomically(path: Path, content: bytes) -> None:
    """Write through a temporary file beside `path`, so that no reader sees a partial file."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def make_dataset(out: Path, label_seed: int | None) -> dict[str, Any]:
    images, labels = load_source()
    taps = interpolation_taps()
    samples = [Sample(label, enlarge(image, taps)) for label, image in zip(labels, images)]
    train_indices, test_indices = split(labels)
    train = [samples[i] for i in train_indices]
    test = [samples[i] for i in test_indices]
    if label_seed is not None:
        train = permute_labels(train, label_seed)
    description = manifest(train, test, label_seed)
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / "train.bin", b"".join(sample.record() for sample in train))
        write_atomically(out / "test.bin", b"".join(sample.record() for sample in test))
        text = json.dumps(description, indent=2) + "\n"
        write_atomically(out / "dataset.json", text.encode("ascii"))
    except OSError as error:
        raise DigitsError(f"cannot write the data set to {out}: {error}") from error
    return description


def seed_argument(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if seed < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer of 0 or more")
    return seed


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Write scikit-learn's handwritten digits in the CIFAR-10 binary layout."
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="output folder")
    parser.add_argument(
        "--shuffle-labels",
        type=seed_argument,
        metavar="SEED",
        help="permute the train labels: a control that no model can learn to generalise from",
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    try:
        description = make_dataset(arguments.out, arguments.shuffle_labels)
    except DigitsError as error:
        print(f"make_digits.py: error: {error}", file=sys.stderr)
        return 2
    train, test = description["train"]["samples"], description["test"]["samples"]
    print(f"wrote {description['name']} to {arguments.out}: {train} train, {test} test samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
