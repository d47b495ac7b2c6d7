"""LIBERO's household objects as a pack of assets, which `scripts/setup --soak` installs."""

from pathlib import Path

PACK = Path(__file__).resolve().parents[1] / "build" / "soak" / "library" / "libero"
ARTICULATED = ("basin_faucet", "faucet", "flat_stove", "microwave", "short_cabinet", "short_fridge", "slide_cabinet",
               "white_cabinet", "white_storage_box", "window", "wooden_cabinet", "dishwasher")  # fmt: skip
