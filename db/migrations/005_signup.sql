-- Sign-up forms and confirmed opt-in.
CREATE TABLE forms (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  version    INTEGER NOT NULL, -- counts the changes, from 1
  confirm    TEXT NOT NULL CHECK (confirm IN ('double', 'single')),
  domain     TEXT NOT NULL,    -- of the sender
  definition TEXT NOT NULL,    -- JSON: sender, topics, segments, fields, templates, language and the rest
  requested  INTEGER NOT NULL DEFAULT 0, -- opt-ins that were asked for
  confirmed  INTEGER NOT NULL DEFAULT 0,
  refused    INTEGER NOT NULL DEFAULT 0, -- by the person
  stopped    INTEGER NOT NULL DEFAULT 0, -- submissions that went no further
  alerted_at INTEGER,          -- when the owner was last told that confirmations are above the limits; NULL: never
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forms_team ON forms (team_id, id);

-- Opt-ins that were asked for. None is a contact until it is confirmed.
CREATE TABLE opt_ins (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  form_id      TEXT NOT NULL,    -- empty: asked for by API; the form may be deleted
  form_version INTEGER NOT NULL, -- 0: asked for by API
  address      BLOB NOT NULL CHECK (length(address) = 16),
  email        TEXT NOT NULL,    -- as given
  status       TEXT NOT NULL CHECK (status IN ('pending', 'confirmed', 'expired', 'refused')),
  mail         TEXT NOT NULL CHECK (mail IN ('due', 'held', 'none', 'sent')), -- the confirmation: due until it is sent or 24 hours are over; held after a restore; none: not sent
  ip_range     TEXT NOT NULL,    -- that requests share limits with; empty: none
  request      TEXT NOT NULL,    -- JSON: topics, segments, values, and what the consent record needs
  link_id      TEXT,             -- the opt-in of the same address whose link was sent before; NULL: this one
  email_id     TEXT,             -- of the confirmation; NULL: not sent
  sent_at      INTEGER,          -- when the confirmation was handed to its relay's queue; NULL: not sent
  contact_id   TEXT,             -- of the contact; NULL: not confirmed, or deleted
  requested_at INTEGER NOT NULL,
  decided_at   INTEGER           -- when it was confirmed, refused or expired; NULL: pending
) STRICT;
CREATE INDEX opt_ins_team ON opt_ins (team_id, id);
CREATE INDEX opt_ins_status ON opt_ins (team_id, status, id);
CREATE INDEX opt_ins_address ON opt_ins (team_id, address, id);
CREATE INDEX opt_ins_due ON opt_ins (team_id, form_id, ip_range, id) WHERE mail = 'due';
CREATE INDEX opt_ins_held ON opt_ins (team_id, id) WHERE mail = 'held';
CREATE INDEX opt_ins_waiting ON opt_ins (requested_at) WHERE mail = 'due';
CREATE INDEX opt_ins_pending ON opt_ins (requested_at) WHERE status = 'pending';
CREATE INDEX opt_ins_age ON opt_ins (requested_at) WHERE request <> '{}';

-- Confirmations of the last 30 days, for the limits of addresses and forms.
CREATE TABLE confirmations (
  person   BLOB NOT NULL CHECK (length(person) = 16), -- keyed hash of the address, the same for all teams
  sent_at  INTEGER NOT NULL,
  opt_in_id TEXT NOT NULL,
  team_id  TEXT NOT NULL,
  form_id  TEXT NOT NULL, -- empty: asked for by API
  ip_range TEXT NOT NULL,
  settled  INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)), -- 1: a later decision of the person took it off the count of the team
  PRIMARY KEY (person, sent_at, opt_in_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX confirmations_form ON confirmations (form_id, sent_at);
CREATE INDEX confirmations_team ON confirmations (team_id);
CREATE INDEX confirmations_age ON confirmations (sent_at);

-- Addresses that refused an opt-in: the team sends them no confirmation until then.
CREATE TABLE refusals (
  team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  address BLOB NOT NULL CHECK (length(address) = 16),
  until   INTEGER NOT NULL,
  PRIMARY KEY (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX refusals_age ON refusals (until);

-- Proofs and buttons that were used. They count once.
CREATE TABLE used_proofs (
  id    BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  until INTEGER NOT NULL -- when it is void anyway
) STRICT, WITHOUT ROWID;
CREATE INDEX used_proofs_age ON used_proofs (until);

-- What contacts agreed to.
CREATE TABLE consents (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  contact_id TEXT NOT NULL,
  opt_in_id  TEXT,          -- NULL: by a form without confirmation
  form_id    TEXT,
  record     TEXT NOT NULL, -- JSON: form and version, text that was shown, topics, and when and from where it was asked for and confirmed
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX consents_contact ON consents (team_id, contact_id, id);

ALTER TABLE emails ADD COLUMN for_opt_in TEXT; -- id of the opt-in that it confirms, so that lists and webhooks leave it out; NULL: another email
