"""weights-4bit: frozen weights with 4 bits each, by bitsandbytes."""

from oomph.remedies import quantized


def install(wish) -> None:
    quantized.install(wish, 4)
