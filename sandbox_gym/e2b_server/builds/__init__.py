"""Template builds: a sandbox in which a template's steps are run, and whose files are then the template."""
