"""Commands about episodes of robots: compare them, convert them, replay them, and let policies make them."""
