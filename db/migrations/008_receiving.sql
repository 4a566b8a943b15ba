-- Mail that arrives for domains of teams.
ALTER TABLE domains ADD COLUMN receiving INTEGER CHECK (receiving IN (0, 1)); -- 1: the team wants mail for the domain; NULL: not
ALTER TABLE domains ADD COLUMN receives_at INTEGER; -- when a check last found all that receiving needs; NULL: never
ALTER TABLE domains ADD COLUMN receives INTEGER CHECK (receives IN (0, 1)); -- 1: the last check found it; NULL: not

ALTER TABLE teams ADD COLUMN reply_addresses INTEGER CHECK (reply_addresses IN (0, 1)); -- 1: mail without reply_to gets an address that names the email; NULL: not

-- Received emails. Their bytes are in received_pieces, which are written before the row.
CREATE TABLE received_emails (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  domain_id  TEXT NOT NULL,    -- of the first recipient; the domain may be gone
  mail_from  TEXT NOT NULL,    -- envelope sender; empty: the null sender
  recipients TEXT NOT NULL,    -- JSON: envelope recipients of the team
  peer       TEXT NOT NULL,    -- JSON: address and name of the sending server
  from_text  TEXT NOT NULL,
  from_email TEXT,             -- lower case, A-labels; NULL: unreadable
  header     TEXT NOT NULL,    -- JSON: to, cc, bcc, reply_to
  subject    TEXT NOT NULL,
  message_id TEXT,             -- with angle brackets; NULL: none
  size       INTEGER NOT NULL, -- bytes
  digest     BLOB NOT NULL,    -- hash of recipients, Message-ID and content: a duplicate has the same
  files      TEXT,             -- JSON: attachments without content; NULL: none
  auth       TEXT NOT NULL,    -- JSON: SPF, DKIM, DMARC
  auto       TEXT,             -- how it was made, if no person wrote it; NULL: a person did
  answers    TEXT,             -- email that it answers, or claims to; NULL: none
  proven     INTEGER NOT NULL CHECK (proven IN (0, 1)), -- 1: a recipient of that email answered
  contact_id TEXT,             -- of the sender; NULL: none
  spam       TEXT,             -- JSON: what a rspamd says; NULL: none was asked
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX received_emails_team ON received_emails (team_id, id);
CREATE INDEX received_emails_digest ON received_emails (team_id, digest, created_at);
CREATE INDEX received_emails_answers ON received_emails (team_id, answers, id) WHERE answers IS NOT NULL;
CREATE INDEX received_emails_contact ON received_emails (team_id, contact_id, id) WHERE contact_id IS NOT NULL;
CREATE INDEX received_emails_from ON received_emails (team_id, from_email) WHERE from_email IS NOT NULL;
CREATE INDEX received_emails_age ON received_emails (created_at, id);

-- The readable content of received emails.
CREATE TABLE received_contents (
  received_id TEXT NOT NULL PRIMARY KEY REFERENCES received_emails (id) ON DELETE CASCADE,
  headers     TEXT NOT NULL, -- JSON: names and values
  text        TEXT,
  html        TEXT,
  reply_text  TEXT           -- text without quotes and signature; NULL: none was recognised
) STRICT, WITHOUT ROWID;

-- The bytes of received emails. Pieces without an email are left by a crash, and removed after a day.
CREATE TABLE received_pieces (
  received_id TEXT NOT NULL,
  n           INTEGER NOT NULL, -- from 0
  content     BLOB NOT NULL,
  PRIMARY KEY (received_id, n)
) STRICT, WITHOUT ROWID;

-- What teams received on a day.
CREATE TABLE received_days (
  team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  day     TEXT NOT NULL, -- UTC, YYYY-MM-DD
  emails  INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  PRIMARY KEY (team_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX received_days_day ON received_days (day);

-- Rules for received mail, tried in order; the first that matches decides.
CREATE TABLE mail_routes (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  position   INTEGER NOT NULL, -- from 1
  match      TEXT NOT NULL,    -- ann@example.com, *@example.com or +tag
  actions    TEXT NOT NULL,    -- JSON
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX mail_routes_team ON mail_routes (team_id, position);

-- Addresses to which a team forwards. Nothing is forwarded before the owner of the address agreed.
CREATE TABLE forward_addresses (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  address      TEXT NOT NULL,    -- lower case, A-labels
  agreed_at    INTEGER,          -- NULL: not yet
  stopped_at   INTEGER,          -- by a link in a forwarded mail; NULL: not
  refusals     INTEGER NOT NULL, -- in a row; five pause it
  created_at   INTEGER NOT NULL,
  UNIQUE (team_id, address)
) STRICT;

-- Mail that was forwarded or answered, so that neither happens twice.
CREATE TABLE route_effects (
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  effect     BLOB NOT NULL,    -- hash of Message-ID and destination, or of route and sender
  created_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, effect)
) STRICT, WITHOUT ROWID;
CREATE INDEX route_effects_age ON route_effects (created_at);
