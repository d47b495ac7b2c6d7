"""Makes the built-in library: python sample_scenes/make_library.py [FOLDER]

All shapes, pictures and numbers are original. Deterministic: every run writes the same files.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asset_designs import (
    BLACK,
    BLUE,
    BROWN,
    CREAM,
    FLIP_CAP,
    GREEN,
    GREY,
    KETCHUP_PROFILE,
    MUSTARD_PROFILE,
    NAMED_COLOURS,
    NAVY,
    ORANGE,
    RED,
    SHAKER_PROFILE,
    SPOUT_CAP,
    STEEL,
    TEAL,
    WATER_PROFILE,
    WHITE,
    WOOD,
    YELLOW,
    ball,
    block,
    book,
    bowl,
    can,
    capped_bottle,
    cylinder,
    mug,
    open_box,
    plate,
    printed_box,
    smooth_profile,
)
from print_designs import FaceDesign, disc_motif, dots_motif, front_face, stripes_motif, wrapped_label
from single_designs import (
    apple,
    banana,
    brick,
    drill,
    gable,
    hammer,
    jug,
    marker,
    pan,
    pear,
    scissors,
    screwdriver,
    spray,
    tape,
    toy_plane,
)

from pipeline.assets.library import write_asset
from pipeline.assets.solids import Solid, lathe, rounded_square


@dataclass(frozen=True)
class AssetDesign:
    """The facts and the shape of one asset."""

    category: str
    caption: str
    mass: float
    solid: Callable[[], Solid]
    friction: float = 0.6
    container: bool = False


LIBRARY: dict[str, AssetDesign] = {}
for _name, _rgb in NAMED_COLOURS.items():
    LIBRARY[f"{_name}_cube"] = AssetDesign(
        "cube", f"a {_name} wooden cube, 5 cm", 0.085, block((0.05, 0.05, 0.05), _rgb), 0.7
    )
for _name in ("red", "yellow", "blue"):
    LIBRARY[f"{_name}_block"] = AssetDesign(
        "block", f"a long {_name} wooden block", 0.13, block((0.1, 0.05, 0.04), NAMED_COLOURS[_name]), 0.7
    )
for _name in ("red", "green", "blue"):
    LIBRARY[f"{_name}_cylinder"] = AssetDesign(
        "cylinder", f"a {_name} wooden cylinder", 0.1, cylinder(0.025, 0.07, NAMED_COLOURS[_name]), 0.7
    )
LIBRARY |= {
    "small_wooden_cube": AssetDesign(
        "cube", "a small cube of bare wood", 0.028, block((0.035, 0.035, 0.035), WOOD), 0.7
    ),
    "large_wooden_cube": AssetDesign("cube", "a large cube of bare wood", 0.3, block((0.08, 0.08, 0.08), WOOD), 0.7),
    "foam_brick": AssetDesign("block", "a small brick-red foam block with three holes", 0.028, brick, 0.8),
    "tennis_ball": AssetDesign("ball", "a yellow-green ball", 0.058, ball(0.033, [(200, 220, 60)]), 0.8),
    "red_ball": AssetDesign("ball", "a red rubber ball", 0.12, ball(0.03, [RED]), 0.8),
    "beach_ball": AssetDesign("ball", "a ball with blue and white stripes", 0.09, ball(0.045, [BLUE, WHITE]), 0.7),
    "cracker_box": AssetDesign(
        "box",
        "a tall red carton of crackers",
        0.41,
        printed_box(
            (0.16, 0.065, 0.21), FaceDesign(RED, (165, 18, 24), "CRACKERS", dots_motif((230, 170, 70), 6, 1, True))
        ),
    ),
    "cereal_box": AssetDesign(
        "box",
        "a tall blue carton of cereal with a bowl on the front",
        0.45,
        printed_box((0.19, 0.06, 0.27), FaceDesign(BLUE, YELLOW, "CEREAL", disc_motif(CREAM), BLUE)),
    ),
    "sugar_box": AssetDesign(
        "box",
        "a yellow and white carton of sugar",
        0.51,
        printed_box((0.09, 0.045, 0.175), FaceDesign(YELLOW, (240, 240, 240), "SUGAR", disc_motif(WHITE, BLUE), BLUE)),
    ),
    "pasta_box": AssetDesign(
        "box",
        "a flat blue carton of pasta",
        0.5,
        printed_box((0.11, 0.04, 0.19), FaceDesign((30, 60, 130), RED, "PASTA", stripes_motif(YELLOW))),
    ),
    "macaroni_box": AssetDesign(
        "box",
        "a flat yellow carton of macaroni and cheese",
        0.2,
        printed_box((0.095, 0.035, 0.18), FaceDesign((245, 190, 40), BLUE, "MACARONI", stripes_motif(ORANGE, 6))),
    ),
    "gelatin_box": AssetDesign(
        "box",
        "a small flat red carton of strawberry gelatin",
        0.1,
        printed_box(
            (0.085, 0.028, 0.073), FaceDesign((205, 40, 60), WHITE, "GELATIN", dots_motif((250, 120, 130), 5, 2), RED)
        ),
        0.55,
    ),
    "pudding_box": AssetDesign(
        "box",
        "a flat brown carton of chocolate pudding",
        0.19,
        printed_box((0.11, 0.036, 0.09), FaceDesign((92, 54, 36), WHITE, "PUDDING", disc_motif((70, 40, 26)), BROWN)),
        0.55,
    ),
    "raisin_box": AssetDesign(
        "box",
        "a small red carton of raisins",
        0.045,
        printed_box(
            (0.05, 0.022, 0.07), FaceDesign((176, 34, 40), YELLOW, "RAISINS", dots_motif((70, 40, 60), 9, 3), RED)
        ),
    ),
    "oat_bars_box": AssetDesign(
        "box",
        "a green carton of oat bars",
        0.24,
        printed_box((0.15, 0.05, 0.12), FaceDesign(GREEN, WOOD, "OAT BARS", dots_motif(CREAM, 8, 4))),
    ),
    "tea_box": AssetDesign(
        "box",
        "a small green carton of tea",
        0.09,
        printed_box((0.12, 0.07, 0.065), FaceDesign((70, 110, 70), CREAM, "TEA", disc_motif((150, 90, 40)), GREEN)),
    ),
    "soup_can": AssetDesign(
        "can",
        "a red and white can of tomato soup",
        0.35,
        can(0.034, 0.101, FaceDesign(WHITE, RED, "TOMATO", disc_motif(RED, YELLOW))),
    ),
    "bean_can": AssetDesign(
        "can",
        "a green can of beans",
        0.42,
        can(0.037, 0.11, FaceDesign(GREEN, (20, 80, 50), "BEANS", dots_motif((180, 110, 70), 8, 5))),
    ),
    "tuna_can": AssetDesign(
        "can",
        "a low blue can of tuna",
        0.17,
        can(0.0425, 0.033, FaceDesign(BLUE, NAVY, "TUNA", stripes_motif(WHITE, 4))),
    ),
    "coffee_can": AssetDesign(
        "can",
        "a big blue can of coffee",
        0.42,
        can(0.051, 0.139, FaceDesign((20, 50, 120), NAVY, "COFFEE", disc_motif(BROWN, CREAM))),
    ),
    "soda_can": AssetDesign(
        "can",
        "a slim red can of soda",
        0.36,
        can(0.033, 0.122, FaceDesign((200, 24, 40), (200, 24, 40), "SODA", stripes_motif(WHITE, 3))),
    ),
    "cheese_shaker": AssetDesign(
        "can",
        "a green shaker of grated cheese",
        0.26,
        can(0.034, 0.15, FaceDesign((30, 110, 60), WHITE, "CHEESE", dots_motif(CREAM, 9, 6), GREEN), (200, 40, 40)),
    ),
    "crisp_tube": AssetDesign(
        "can",
        "a tall red tube of crisps",
        0.2,
        can(0.0375, 0.25, FaceDesign((190, 30, 40), YELLOW, "CRISPS", dots_motif(CREAM, 5, 7), RED), WHITE),
    ),
    "meat_tin": AssetDesign(
        "can",
        "a blue and yellow tin of meat with rounded corners",
        0.37,
        lambda: lathe(
            [(0, 0), (0.05, 0), (0.05, 0.08), (0, 0.08)],
            wrapped_label(
                [(0, 0), (0.05, 0), (0.05, 0.08), (0, 0.08)],
                [(-1, (190, 170, 110)), (0.006, (30, 50, 110)), (0.074, (190, 170, 110))],
                (0.008, 0.072),
                front_face((190, 110), FaceDesign((30, 50, 110), YELLOW, "MEAT", disc_motif((220, 130, 110)), NAVY)),
            ),
            rounded_square(0.35, 6) * [1, 0.57],
        ),
    ),
    "mustard_bottle": AssetDesign(
        "bottle",
        "a yellow squeeze bottle of mustard",
        0.6,
        capped_bottle(
            MUSTARD_PROFILE,
            SPOUT_CAP,
            YELLOW,
            grounds=[(-1, YELLOW)],
            cuts=(0.085, 0.145),
            flat=0.68,
            label=(0.02, 0.12),
            face=front_face((220, 170), FaceDesign(YELLOW, RED, "MUSTARD", disc_motif(NAVY, YELLOW))),
        ),
    ),
    "ketchup_bottle": AssetDesign(
        "bottle",
        "a red squeeze bottle of ketchup with a white cap",
        0.4,
        capped_bottle(
            KETCHUP_PROFILE,
            FLIP_CAP,
            WHITE,
            grounds=[(-1, RED)],
            cuts=(0.115,),
            flat=0.75,
            label=(0.025, 0.085),
            face=front_face((200, 120), FaceDesign(WHITE, GREEN, "KETCHUP", disc_motif(RED))),
        ),
    ),
    "water_bottle": AssetDesign(
        "bottle",
        "a pale blue bottle of water",
        0.52,
        capped_bottle(
            WATER_PROFILE,
            [(0, 0), (0.015, 0), (0.015, 0.016), (0, 0.016)],
            BLUE,
            grounds=[(-1, (190, 214, 226))],
            cuts=(0.14,),
            label=(0.06, 0.115),
            face=front_face((200, 80), FaceDesign((230, 240, 245), BLUE, "WATER", stripes_motif(BLUE, 3))),
        ),
    ),
    "steel_flask": AssetDesign(
        "bottle",
        "a steel flask with a black lid",
        0.38,
        capped_bottle(
            smooth_profile([(0.034, 0), (0.036, 0.008), (0.036, 0.16), (0.026, 0.185), (0.025, 0.19)]),
            [(0, 0), (0.027, 0), (0.027, 0.035), (0, 0.035)],
            BLACK,
            grounds=[(-1, STEEL)],
            cuts=(0.16,),
        ),
    ),
    "cleanser_bottle": AssetDesign("bottle", "a white bottle of cleanser", 0.9, jug),
    "spray_bottle": AssetDesign("bottle", "a slim white spray bottle", 0.12, spray),
    "pepper_shaker": AssetDesign(
        "bottle",
        "a small dark shaker with a white lid",
        0.09,
        capped_bottle(
            SHAKER_PROFILE,
            [(0, 0), (0.0175, 0), (0.015, 0.018), (0, 0.018)],
            WHITE,
            grounds=[(-1, (30, 32, 52))],
            cuts=(),
        ),
    ),
    "juice_carton": AssetDesign("carton", "a carton of orange juice with a gable top", 1.0, gable),
    "white_bowl": AssetDesign("bowl", "a white bowl", 0.32, bowl(0.078, 0.056, WHITE), 0.5, True),
    "red_bowl": AssetDesign("bowl", "a red bowl", 0.3, bowl(0.08, 0.055, (160, 24, 34)), 0.5, True),
    "teal_bowl": AssetDesign("bowl", "a teal bowl", 0.34, bowl(0.082, 0.07, TEAL), 0.5, True),
    "wooden_bowl": AssetDesign("bowl", "a wide wooden bowl", 0.4, bowl(0.11, 0.065, WOOD, (176, 132, 86)), 0.6, True),
    "blue_mug": AssetDesign("mug", "a tall dark blue mug", 0.36, mug(0.042, 0.115, NAVY, 0.78), 0.5, True),
    "white_mug": AssetDesign("mug", "a white mug", 0.31, mug(0.041, 0.088, WHITE), 0.5, True),
    "red_mug": AssetDesign("mug", "a red enamel mug", 0.12, mug(0.046, 0.08, RED), 0.5, True),
    "yellow_cup": AssetDesign("cup", "a yellow plastic cup", 0.03, mug(0.038, 0.1, YELLOW, 0.74, False), 0.5, True),
    "green_cup": AssetDesign("cup", "a green plastic cup", 0.03, mug(0.036, 0.085, GREEN, 0.8, False), 0.5, True),
    "white_plate": AssetDesign("plate", "a white dinner plate", 0.5, plate(0.115, WHITE), 0.5, True),
    "blue_plate": AssetDesign("plate", "a blue side plate", 0.3, plate(0.085, BLUE), 0.5, True),
    "grey_tray": AssetDesign("tray", "a flat grey tray", 0.35, open_box((0.3, 0.21, 0.03), GREY, 0.95), 0.6, True),
    "white_bin": AssetDesign("bin", "a white storage bin", 0.25, open_box((0.22, 0.16, 0.1), WHITE), 0.6, True),
    "blue_bin": AssetDesign("bin", "a blue parts bin", 0.2, open_box((0.17, 0.13, 0.08), BLUE), 0.6, True),
    "square_red_bowl": AssetDesign(
        "bowl", "a square orange-red bowl", 0.2, open_box((0.16, 0.16, 0.065), (215, 70, 50), 0.72), 0.6, True
    ),
    "frying_pan": AssetDesign("pan", "a dark frying pan", 0.7, pan, 0.6, True),
    "red_book": AssetDesign(
        "book", "a red hardcover book lying flat", 0.45, book((0.15, 0.21, 0.028), (150, 36, 40), CREAM, "PHYSICS")
    ),
    "blue_notebook": AssetDesign(
        "book", "a thin blue notebook", 0.2, book((0.14, 0.2, 0.012), (50, 80, 140), WHITE, "NOTES")
    ),
    "screwdriver": AssetDesign("tool", "a screwdriver with a red handle", 0.12, screwdriver, 0.7),
    "hammer": AssetDesign("tool", "a hammer with a wooden handle", 0.55, hammer, 0.7),
    "drill": AssetDesign("tool", "an orange cordless drill standing on its battery", 1.2, drill, 0.7),
    "scissors": AssetDesign("tool", "scissors with blue handles", 0.06, scissors, 0.6),
    "blue_marker": AssetDesign("pen", "a white marker with a blue cap", 0.016, marker, 0.6),
    "tape_roll": AssetDesign("tape", "a roll of brown packing tape", 0.15, tape, 0.7),
    "toy_plane": AssetDesign("toy", "a toy biplane, red with green wings", 0.4, toy_plane, 0.6),
    "banana": AssetDesign("fruit", "a banana", 0.14, banana, 0.7),
    "apple": AssetDesign("fruit", "a red apple", 0.18, apple, 0.7),
    "orange": AssetDesign("fruit", "an orange", 0.2, ball(0.037, [(230, 120, 30)]), 0.7),
    "pear": AssetDesign("fruit", "a green pear", 0.17, pear, 0.7),
}


def write_design(id: str, design: AssetDesign, folder: Path) -> None:
    """Write one asset folder, replacing an earlier one."""
    shutil.rmtree(folder / id, ignore_errors=True)
    about = {"caption": design.caption, "category": design.category, "mass": design.mass, "friction": design.friction}
    origin = {"container": design.container, "licence": "MIT", "provenance": "made by sample_scenes/make_library.py"}
    write_asset(design.solid(), folder / id, {"name": id.replace("_", " ")} | about | origin)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "library"
    for key, value in LIBRARY.items():
        write_design(key, value, target)
    print(f"{len(LIBRARY)} assets in {target}")
