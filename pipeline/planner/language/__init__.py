"""The English of instructions: a lexicon, tokens, phrases for objects, clauses, and plain words for goals."""
