"""`python -m bench.retrieval`: is the right asset among those offered when only the description names it?

A hundred descriptions of assets of the built-in library, as a model with vision writes them: two or three words and a
sentence. The words are those of public vocabularies, as remembered: synonyms of WordNet and LVIS, names of COCO, of the
YCB objects and of LIBERO. They were written before any of them was asked. Nothing is measured, so a description has the
places of `MAX_NAMED` only. Those in even places of a fixed shuffle may be looked at; the others are kept aside.
"""

import random
import sys

from pipeline.assets import Library
from pipeline.matching import Match
from pipeline.matching.model.verdict import MAX_SHOWN
from pipeline.matching.named_candidates import with_named_candidates

QUESTIONS = """
apple: red_apple | A shiny red apple with a short stem.
apple: eating_apple | A round ripe fruit, mostly red.
banana: yellow_banana | A single curved yellow banana.
banana: ripe_plantain | A long curved yellow fruit.
beach_ball: inflatable_ball | A small ball with coloured segments, like a beach toy.
bean_can: baked_beans_tin | A tin of baked beans with a green label.
bean_can: canned_beans | A metal can of beans.
blue_bin: blue_storage_bin | An open blue plastic bin.
blue_bin: blue_tub | A blue rectangular tub without a lid.
blue_block: blue_brick | A blue rectangular toy brick.
blue_cube: blue_toy_cube | A small blue cube.
blue_cylinder: blue_cylinder | A plain blue upright cylinder.
blue_marker: large_marker | A blue felt-tip marker lying on its side.
blue_marker: blue_felt_pen | A felt pen with a blue cap.
blue_mug: blue_coffee_mug | A blue ceramic mug with a handle.
blue_notebook: blue_notepad | A thin blue notebook.
blue_plate: blue_dinner_plate | A flat blue plate.
blue_plate: blue_saucer | A shallow blue dish.
cereal_box: breakfast_cereal_box | A tall carton of breakfast cereal.
cereal_box: cornflakes_packet | A packet of corn flakes.
cheese_shaker: parmesan_shaker | A cylindrical shaker of grated parmesan cheese.
cheese_shaker: grated_cheese_canister | A green canister of grated cheese.
cleanser_bottle: bleach_cleanser | A white bottle of bleach cleanser.
cleanser_bottle: detergent_bottle | A plastic bottle of household cleaner.
coffee_can: master_chef_can | A blue can of ground coffee.
coffee_can: coffee_tin | A tin of coffee.
cracker_box: cheezit_box | A red box of cheese crackers.
cracker_box: cracker_carton | A carton of crackers.
crisp_tube: chips_can | A tall red tube of potato chips.
crisp_tube: potato_crisps_tube | A tube of stacked potato crisps.
drill: power_drill | A cordless power drill with an orange and black body.
drill: electric_drill | A hand-held electric drill.
foam_brick: red_foam_brick | A red foam brick with holes.
foam_brick: sponge_brick | A small red brick of foam.
frying_pan: black_skillet | A black skillet with a long handle.
frying_pan: frypan | A frypan with a handle.
gelatin_box: jello_box | A small box of gelatin dessert.
gelatin_box: gelatine_packet | A packet of gelatine.
green_cube: green_wooden_block | A small green cube.
green_cup: green_tumbler | A green drinking cup without a handle.
green_cylinder: green_peg | A green upright cylinder.
grey_tray: serving_tray | A grey serving tray.
grey_tray: gray_salver | A flat gray tray with a low rim.
hammer: claw_hammer | A claw hammer with a yellow handle.
hammer: mallet | A hammer lying on the table.
juice_carton: orange_juice_carton | A carton of orange juice with a gable top.
juice_carton: juice_pack | A tall pack of fruit juice.
ketchup_bottle: catsup_bottle | A red squeeze bottle of ketchup.
ketchup_bottle: tomato_ketchup | A red plastic bottle of tomato ketchup.
large_wooden_cube: big_wood_block | A large cube of light wood.
macaroni_box: macaroni_and_cheese | A blue box of macaroni and cheese.
macaroni_box: mac_cheese_box | A box of macaroni.
meat_tin: potted_meat_can | A rectangular can of potted meat.
meat_tin: spam_can | A tin of luncheon meat.
mustard_bottle: yellow_mustard_bottle | A yellow squeeze bottle of mustard.
mustard_bottle: mustard | A bottle of yellow mustard.
oat_bars_box: granola_bars_box | A box of oat granola bars.
oat_bars_box: cereal_bar_carton | A carton of oat bars.
orange: orange_fruit | A round orange with dimpled peel.
orange: mandarin_orange | An orange citrus fruit.
orange_cube: orange_toy_block | A small orange cube.
pasta_box: spaghetti_box | A box of spaghetti.
pasta_box: noodle_carton | A carton of pasta noodles.
pear: green_pear | A ripe green pear.
pear: yellow_pear | A pear standing on its base.
pepper_shaker: pepper_mill | A small pepper mill.
pepper_shaker: pepper_pot | A small shaker of ground pepper.
pudding_box: chocolate_pudding | A brown box of chocolate pudding.
pudding_box: pudding_mix | A box of instant pudding mix.
purple_cube: violet_cube | A small purple cube.
raisin_box: raisins | A small red box of raisins.
red_ball: red_rubber_ball | A plain red ball.
red_block: red_building_block | A red rectangular block.
red_book: hardcover_book | A red hardcover book.
red_book: red_paperback | A red book lying flat.
red_bowl: red_cereal_bowl | A round red bowl.
red_cube: red_dice | A small red cube.
red_cylinder: red_cylinder | A plain red upright cylinder.
red_mug: red_coffee_cup | A red mug with a handle.
scissors: pair_of_scissors | A pair of scissors with red handles.
scissors: shears | A pair of shears.
screwdriver: phillips_screwdriver | A screwdriver with a plastic handle.
screwdriver: flat_screwdriver | A flat-head screwdriver.
soda_can: coke_can | A red can of cola.
soda_can: pop_can | A can of soft drink.
soup_can: tomato_soup_can | A can of tomato soup.
soup_can: campbells_tin | A tin of soup.
spray_bottle: windex_bottle | A spray bottle with a nozzle.
square_red_bowl: square_bowl | A square red bowl.
steel_flask: thermos_bottle | A stainless steel thermos.
steel_flask: vacuum_flask | A steel vacuum flask.
sugar_box: domino_sugar | A yellow box of granulated sugar.
tape_roll: masking_tape | A roll of adhesive tape.
tape_roll: duct_tape | A roll of yellow tape.
tea_box: teabag_box | A green box of tea bags.
tennis_ball: tennis_ball | A fuzzy yellow-green tennis ball.
toy_plane: toy_aeroplane | A toy airplane with wings and a propeller.
tuna_can: tuna_fish_can | A flat can of tuna fish.
water_bottle: plastic_water_bottle | A clear plastic bottle of water.
wooden_bowl: wood_salad_bowl | A wooden salad bowl.
"""


def main() -> int:
    """Print the share of descriptions whose asset is offered, of each half, and the failures of the first."""
    library, offered = Library.open(), {True: [0, 0], False: [0, 0]}
    lines = QUESTIONS.strip().splitlines()
    random.Random(0).shuffle(lines)
    for number, line in enumerate(lines):
        id, _, text = line.partition(": ")
        name, _, caption = text.partition(" | ")
        nothing = Match(1, None, 1.0, "", ())
        found = [one.asset_id for one in with_named_candidates(nothing, name, library, MAX_SHOWN, caption)]
        open_half = number % 2 == 0
        offered[open_half][0] += id in found
        offered[open_half][1] += 1
        if id not in found and open_half:
            print(f"{line}: offered {', '.join(found) or 'none'}")
    for open_half, (hits, count) in offered.items():
        print(f"{'looked at' if open_half else 'kept aside'}: {hits} of {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
