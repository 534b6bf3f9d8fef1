"""What jobs upload and the report job reads: names, archives, and the one document in them. All of it is untrusted."""
