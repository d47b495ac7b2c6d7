"""Objects in the app: records, candidates, matchers and images."""
