"""The offline reader: command forms and noun phrases are read exactly, other words are answered with tasks."""
