"""Colours that colour-blind readers tell apart, and what each stands for in every picture."""

from __future__ import annotations

# The palette of Okabe and Ito (2008), told apart with every common kind of colour blindness.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, PALE = "#767676", "#D9D9D9"

POSITIVE, NEGATIVE = VERMILION, BLUE  # neurons with a_j > 0 and < 0, samples with y = +1 and -1
LINES = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)


def sign_colour(sign: float) -> str:
    """Colour of a neuron or a sample by its sign; grey for 0."""
    return POSITIVE if sign > 0 else NEGATIVE if sign < 0 else GREY


# The colour of each kind of event, in every picture; the rare kinds come last.
KIND_COLOURS = {
    "cross_up": SKY,
    "cross_down": ORANGE,
    "leave_up": BLUE,
    "leave_down": VERMILION,
    "slide": BLACK,
    "die": PURPLE,
    "start_up": GREY,
    "start_down": GREY,
    "start_slide": GREY,
    "wake_up": GREY,
    "wake_down": GREY,
    "void": PURPLE,
    "branch": GREEN,
}
