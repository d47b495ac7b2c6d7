"""Client for servers with the OpenAI API."""
