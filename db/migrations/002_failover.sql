-- Regions with several relays, rules that choose between them, and webhooks about the server.
CREATE TABLE regions (
  name       TEXT NOT NULL PRIMARY KEY,
  settings   TEXT NOT NULL, -- JSON: order of the relays, when to switch between them, routes
  state      TEXT NOT NULL, -- JSON: which relay is active, since when and why
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE webhooks ADD COLUMN webhook_scope TEXT; -- 'server': an operator made it, also for events about the server; NULL: the team's
ALTER TABLE emails ADD COLUMN routed TEXT; -- the rules by which its relays were chosen, in words; NULL: none
ALTER TABLE units ADD COLUMN part TEXT; -- of an email with recipients in several queues: the queue of those that it is sent to next; NULL: to all
ALTER TABLE recipients ADD COLUMN queue TEXT; -- of an email with recipients in several queues: see units.part; NULL: that of the unit
