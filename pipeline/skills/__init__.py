"""Skills: policies that solved a subtask, kept in a workspace, and where the policies of other tasks may begin."""
