"""Work folders of local sessions: slots mounted into jails, layers, and the snapshots made of them."""
