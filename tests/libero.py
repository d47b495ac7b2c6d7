"""LIBERO's household objects as a pack of assets, which `scripts/setup --soak` installs."""

from pathlib import Path

PACK = Path(__file__).resolve().parents[1] / "build" / "soak" / "library" / "libero"
ARTICULATED = (
    "basin_faucet", "faucet", "flat_stove", "microwave", "short_cabinet", "short_fridge", "slide_cabinet",
    "white_cabinet", "window", "wooden_cabinet", "yellow_cabinet", "yellow_stove",
)  # fmt: skip
"""Its assets with parts that move."""
