import kit


def build(scene, seed):
    """Mirror red_cube, purple_cube and green_cube: exchange left and right."""
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube", "purple_cube", "green_cube")
    image = sim.mirrored("red_cube", "purple_cube", "green_cube")
    sim.goal(
        kit.at("red_cube", image["red_cube"]), kit.at("purple_cube", image["purple_cube"]), kit.at("green_cube", image["green_cube"]),
    )
    return sim
