"""A server with the OpenAI API that answers by rules and from a file, for tests and demonstrations without a key.

`python -m scripts.scripted_model_server [--port PORT] [--answers FILE] [--log FILE]`, then
`GRS_BASE_URL=http://127.0.0.1:PORT/v1 GRS_MODEL=scripted grs-studio run FRAME --model openai --out DIR`. It serves only
models whose names begin with "scripted", so that no result made with it can carry the name of a real model.
"""
