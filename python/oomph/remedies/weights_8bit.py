"""weights-8bit: frozen weights with 8 bits each, by bitsandbytes."""

from oomph.remedies import quantized


def install(wish) -> None:
    quantized.install(wish, 8)
