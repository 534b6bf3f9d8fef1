"""GitHub's REST interface: one client, its rules about trying again, the values it answers with."""
