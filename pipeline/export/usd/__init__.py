"""Export of the twin as OpenUSD with physics, by usd-core (the optional extra "usd")."""
