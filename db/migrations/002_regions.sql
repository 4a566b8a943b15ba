-- Regions with several relays.
CREATE TABLE regions (
  name       TEXT NOT NULL PRIMARY KEY,
  settings   TEXT NOT NULL, -- JSON: order of the relays, when to switch between them, routes
  state      TEXT NOT NULL, -- JSON: which relay is active, since when and why
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE webhooks ADD COLUMN scope TEXT; -- 'server': an operator made it, also for events about the server; NULL: the team's
