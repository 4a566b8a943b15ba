-- The whole schema of a Mailer database: what a fresh one gets.
--
-- Ids are UUID v7 as text, so their order is the order of creation. Times are
-- Unix milliseconds. JSON columns are written and read whole, by Go. States are
-- CHECK lists. Lists are read by keyset on an index that starts with team_id.

-- What the server keeps for itself: a note of its relays and address for the
-- commands beside it, and what is sealed, under names that begin with 'sealed.', as
-- sealed.flags: the settings that an operator changed while the server runs.
CREATE TABLE settings (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A team owns all that follows; no row of one team is seen by another.
CREATE TABLE teams (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL, -- several may have the same: a team that names itself must not learn of others
  contacts   INTEGER NOT NULL DEFAULT 0, -- how many it has
  suppressions INTEGER NOT NULL DEFAULT 0, -- how many its list shows: without those that were erased
  guardrail  TEXT NOT NULL DEFAULT 'ok' CHECK (guardrail IN ('ok', 'warning', 'paused')), -- as it was last judged
  suspended_at INTEGER,       -- since when nothing of it leaves, by the operator's word; NULL: it does
  suspended  TEXT,            -- the reason that its callers are told; NULL: not suspended
  keep_content    INTEGER,    -- milliseconds; 0: for ever; NULL: as the server has it; so the next two
  keep_emails     INTEGER,
  keep_broadcasts INTEGER,
  logo_url   TEXT,            -- the address of a logo on another server; NULL: none
  logo_id    TEXT,            -- the id in logos of the logo that was uploaded; NULL: none
  color      TEXT,            -- of buttons and links, as #rrggbb; NULL: ink
  font       TEXT,            -- the name of a font stack; NULL: that of the reader's device
  footer     TEXT,            -- plain text at the end of visual email; NULL: none
  second_factor INTEGER NOT NULL DEFAULT 0 CHECK (second_factor IN (0, 1)), -- people reach it only with a second factor
  deleted_at INTEGER,         -- since when all of it goes, piece by piece, and this row last; NULL: it stays
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX teams_name ON teams (name);
CREATE INDEX teams_suspended ON teams (id) WHERE suspended_at IS NOT NULL;
CREATE INDEX teams_deleted ON teams (id) WHERE deleted_at IS NOT NULL;

-- The logos that teams uploaded. A logo that was replaced stays, since email that was sent
-- shows it: the newest ten of a team are kept.
CREATE TABLE logos (
  id         TEXT NOT NULL PRIMARY KEY, -- SHA-256 of team and content, so that nobody guesses it
  team_id    TEXT NOT NULL REFERENCES teams (id),
  type       TEXT NOT NULL CHECK (type IN ('image/png', 'image/jpeg')),
  width      INTEGER NOT NULL, -- pixels
  height     INTEGER NOT NULL,
  content    BLOB NOT NULL,
  created_at INTEGER NOT NULL  -- when it was uploaded the last time
) STRICT;
CREATE INDEX logos_team ON logos (team_id, created_at, id);

-- How many recipients a team's mail counted on a UTC day: the unit of quotas. An
-- email counts when it is accepted, or, where it waits for its time, when it
-- leaves; a recipient of a broadcast when its turn comes.
CREATE TABLE team_days (
  team_id    TEXT NOT NULL REFERENCES teams (id),
  day        INTEGER NOT NULL, -- Unix days
  recipients INTEGER NOT NULL,
  quota_event INTEGER NOT NULL DEFAULT 0 CHECK (quota_event IN (0, 1, 2)), -- event of the day's quota that was sent: 1 quota.warning, 2 quota.reached
  PRIMARY KEY (team_id, day)
) STRICT, WITHOUT ROWID;

-- Plans of teams, in cloud mode. A team without a row is on the free one.
CREATE TABLE team_plans (
  team_id  TEXT NOT NULL PRIMARY KEY REFERENCES teams (id),
  name     TEXT NOT NULL CHECK (name IN ('free', 'starter', 'pro', 'scale')),
  included INTEGER,          -- recipients a period; NULL: what the plan includes
  overage  INTEGER NOT NULL CHECK (overage IN (0, 1)),
  since    INTEGER NOT NULL, -- the midnight before the team got a monthly plan: periods begin on that day of the month
  quota_event_at INTEGER,    -- when the period began of which an event was sent
  quota_event INTEGER NOT NULL DEFAULT 0 CHECK (quota_event IN (0, 1, 2)) -- as in team_days
) STRICT, WITHOUT ROWID;

-- Recipients of accepted emails that have not counted in team_days: the sums of
-- units.owed, kept in cloud mode.
CREATE TABLE team_backlogs (
  team_id   TEXT NOT NULL PRIMARY KEY REFERENCES teams (id),
  late      INTEGER NOT NULL, -- of units in the backlog of a daily quota
  scheduled INTEGER NOT NULL  -- of the others
) STRICT, WITHOUT ROWID;

-- What became of recipients, by hour: the rates of guardrails and deliverability.
-- A commit adds to each of its rows once, however many messages it is about.
CREATE TABLE outcomes (
  team_id      TEXT NOT NULL REFERENCES teams (id),
  hour         INTEGER NOT NULL, -- Unix hours
  region       TEXT NOT NULL,
  domain       TEXT NOT NULL,    -- of the sender
  sent         INTEGER NOT NULL, -- recipients that a relay took or refused by name
  hard_bounced INTEGER NOT NULL,
  complained   INTEGER NOT NULL,
  scored       INTEGER NOT NULL, -- of sent, those whose email has a score
  points       INTEGER NOT NULL, -- the sum of these scores, in hundredths
  PRIMARY KEY (team_id, hour, region, domain)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_bad ON outcomes (region, team_id, hour, hard_bounced, complained) WHERE hard_bounced + complained > 0;

-- The same of all teams together.
CREATE TABLE region_outcomes (
  region       TEXT NOT NULL,
  hour         INTEGER NOT NULL,
  sent         INTEGER NOT NULL,
  hard_bounced INTEGER NOT NULL,
  complained   INTEGER NOT NULL,
  PRIMARY KEY (region, hour)
) STRICT, WITHOUT ROWID;

-- What became of recipients, by hour: the figures of charts, kept 400 days. Of one
-- recipient each counts once, but for opens and clicks. A commit adds to each of its
-- rows once. No foreign key: a count makes no commit fail.
CREATE TABLE mail_counts (
  team_id      TEXT NOT NULL,
  hour         INTEGER NOT NULL, -- Unix hours
  domain       TEXT NOT NULL,    -- of the sender
  broadcast_id TEXT NOT NULL,    -- '': emails
  sent         INTEGER NOT NULL, -- a relay took or refused them by name, or they are test recipients
  delivered    INTEGER NOT NULL DEFAULT 0,
  opened       INTEGER NOT NULL DEFAULT 0,
  unique_opened  INTEGER NOT NULL DEFAULT 0, -- emails
  clicked      INTEGER NOT NULL DEFAULT 0,
  unique_clicked INTEGER NOT NULL DEFAULT 0,
  bounced_transient    INTEGER NOT NULL DEFAULT 0,
  bounced_permanent    INTEGER NOT NULL DEFAULT 0,
  bounced_undetermined INTEGER NOT NULL DEFAULT 0,
  complained   INTEGER NOT NULL DEFAULT 0,
  suppressed   INTEGER NOT NULL DEFAULT 0,
  delivery_delayed INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  unsubscribed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team_id, hour, domain, broadcast_id)
) STRICT, WITHOUT ROWID;

-- Which requests were made, without their bodies; an id is the request's own, and begins
-- with the time at which it came. Kept 30 days.
CREATE TABLE request_logs (
  team_id    TEXT NOT NULL,
  id         TEXT NOT NULL,
  key_id     TEXT,             -- NULL: a person
  user_id    TEXT,             -- NULL: a key
  method     TEXT NOT NULL,
  endpoint   TEXT NOT NULL,    -- path, as it was written, without the query
  status     INTEGER NOT NULL, -- HTTP
  micros     INTEGER NOT NULL, -- how long it took
  user_agent TEXT,
  error      TEXT,             -- name of the error; NULL: it was answered
  email_id   TEXT,             -- the one email that it made
  addresses  INTEGER NOT NULL CHECK (addresses IN (0, 1)), -- endpoint or user_agent may hold one
  PRIMARY KEY (team_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_logs_addresses ON request_logs (team_id, id) WHERE addresses = 1;

-- API keys: the public part and SHA-256 of the secret part, never the secret.
CREATE TABLE keys (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  permission   TEXT NOT NULL CHECK (permission IN ('full_access', 'sending_access')),
  role         TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  domain_id    TEXT REFERENCES domains (id) ON DELETE CASCADE, -- NULL: any domain
  public       TEXT NOT NULL UNIQUE,
  hash         BLOB NOT NULL,
  expires_at   INTEGER, -- from when on it is no key; NULL: never
  allowed_ips  TEXT,    -- JSON: ranges of addresses that may use it; NULL: any
  made_by      TEXT,    -- id of the person who made it, or the key that made it; NULL: the command line
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_team ON keys (team_id, id);
CREATE INDEX keys_made ON keys (made_by, id) WHERE made_by IS NOT NULL;
CREATE INDEX keys_domain ON keys (domain_id) WHERE domain_id IS NOT NULL;

-- Sending domains, what their owners chose, and what the DNS says of them.
CREATE TABLE domains (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL REFERENCES teams (id),
  name        TEXT NOT NULL, -- lower-case A-labels
  status      TEXT NOT NULL CHECK (status IN ('not_started', 'pending', 'verified', 'failed')),
  trusted     INTEGER NOT NULL CHECK (trusted IN (0, 1)), -- the operator vouches for it: no check takes its verification away
  region      TEXT NOT NULL,
  return_path TEXT NOT NULL,  -- one label
  open_tracking      INTEGER NOT NULL CHECK (open_tracking IN (0, 1)),
  click_tracking     INTEGER NOT NULL CHECK (click_tracking IN (0, 1)),
  tracking_subdomain TEXT,    -- one label or more
  checks      TEXT,           -- JSON: what the last check found; NULL: none yet
  no_dmarc    INTEGER NOT NULL DEFAULT 0 CHECK (no_dmarc IN (0, 1)), -- and it found no DMARC policy
  checked_at  INTEGER,
  check_at    INTEGER,        -- when it is due again; NULL: never
  pending_since INTEGER,      -- when the 72 hours began
  created_at  INTEGER NOT NULL,
  UNIQUE (team_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX domains_team ON domains (team_id, id);
CREATE INDEX domains_due ON domains (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX domains_tracking ON domains (id) WHERE tracking_subdomain IS NOT NULL;

-- DKIM key pairs of domains; the private half is sealed. One of a domain signs;
-- a next one waits until its record is live; a retired one stays listed for a
-- while, since mail that it signed is still on its way.
CREATE TABLE dkim_keys (
  domain_id  TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
  selector   TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('signing', 'next', 'retired')),
  public     TEXT NOT NULL,
  sealed     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  retired_at INTEGER,
  PRIMARY KEY (domain_id, selector)
) STRICT, WITHOUT ROWID;

-- Emails: what lists show. Bodies and attachments stand in tables of their own.
CREATE TABLE emails (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  key_id       TEXT, -- the key that sent it; NULL: the command line
  relay        TEXT NOT NULL,
  message_id   TEXT NOT NULL, -- without angle brackets
  sender       TEXT NOT NULL, -- JSON: address
  to_list      TEXT NOT NULL, -- JSON: addresses
  cc_list      TEXT,
  bcc_list     TEXT,
  reply_to     TEXT,
  subject      TEXT NOT NULL,
  tags         TEXT,          -- JSON: [{name,value}]
  attachments  INTEGER NOT NULL,
  topic_id     TEXT,
  template_id  TEXT, -- that it was made of
  source       TEXT NOT NULL CHECK (source IN ('account', 'api', 'cli', 'dashboard', 'mcp', 'resend', 'smtp')), -- how it came; account: Mailer's own
  created_at   INTEGER NOT NULL,
  scheduled_at INTEGER,
  last_event   TEXT NOT NULL CHECK (last_event IN ('queued', 'scheduled', 'sent', 'delivery_delayed',
    'delivered', 'opened', 'clicked', 'bounced', 'complained', 'suppressed', 'failed', 'canceled')),
  content_deleted_at INTEGER, -- when it was older than contents are kept: what is left of it goes piece by piece; NULL: it is there
  imported_at  INTEGER,       -- when it came here as history: another server sent it, and nothing of it leaves from here; NULL: it is this server's
  unsent       INTEGER NOT NULL DEFAULT 0 CHECK (unsent IN (0, 1)) -- 1: the record of a send that was refused, all of its recipients being suppressed; in no list that does not ask for it
) STRICT, WITHOUT ROWID;
CREATE INDEX emails_team ON emails (team_id, id);
CREATE INDEX emails_unsent ON emails (team_id, created_at) WHERE unsent = 1;

-- What an email says; never changed after acceptance. Rows are large, so this table
-- and that of the pieces of attachments keep them out of their keys.
CREATE TABLE contents (
  email_id TEXT NOT NULL PRIMARY KEY REFERENCES emails (id) ON DELETE CASCADE,
  html        TEXT,
  plain       TEXT,
  headers     TEXT, -- JSON: [{name,value}]
  unsubscribe TEXT, -- the address of the page that this email leads to; NULL: none
  tracking    TEXT, -- JSON: {base,open,click,pages}; NULL: opens and clicks are not seen
  insights    TEXT, -- JSON: {version,found}; NULL: not looked at
  raw         INTEGER, -- bytes of the message in raw_pieces, which leaves as it is; NULL: it is made of what stands here
  sum         INTEGER NOT NULL -- CRC-32C of html, plain, headers and unsubscribe: a damaged page must not leave as mail
) STRICT;

-- What mail of Mailer's own to a person says, sealed: it may hold a link that only the
-- person may follow. contents has what others see in its place.
CREATE TABLE account_texts (
  email_id TEXT NOT NULL PRIMARY KEY REFERENCES contents (email_id) ON DELETE CASCADE,
  sealed   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
  id           TEXT NOT NULL PRIMARY KEY,
  email_id     TEXT NOT NULL REFERENCES emails (id) ON DELETE CASCADE,
  filename     TEXT NOT NULL,
  content_type TEXT NOT NULL,
  content_id   TEXT, -- under which the HTML shows it; NULL: it does not
  size         INTEGER NOT NULL,
  edition      INTEGER NOT NULL DEFAULT 0 -- how often it was rewritten, by erasures
) STRICT;
CREATE INDEX attachments_email ON attachments (email_id, id);

-- The bytes of attachments, in pieces of 256 KiB and a last one of what is left: to
-- read a part of a large value SQLite walks all of it. None: an empty file.
CREATE TABLE attachment_pieces (
  attachment_id TEXT NOT NULL REFERENCES attachments (id) ON DELETE CASCADE,
  n             INTEGER NOT NULL,
  sum           INTEGER NOT NULL, -- CRC-32C of content
  content       BLOB NOT NULL,
  PRIMARY KEY (attachment_id, n)
) STRICT;

-- Messages that were handed in whole, by SMTP, without what does not leave, in pieces as
-- attachments have. What they say stands in the tables above too, for people to see.
CREATE TABLE raw_pieces (
  email_id TEXT NOT NULL REFERENCES emails (id) ON DELETE CASCADE,
  n        INTEGER NOT NULL,
  sum      INTEGER NOT NULL, -- CRC-32C of content
  content  BLOB NOT NULL,
  PRIMARY KEY (email_id, n)
) STRICT;

-- Units: open work only. One SMTP transaction for an email, or for one recipient
-- of a broadcast, whose id stands in email_id then; the row goes when nothing is
-- left to try. 'later' waits for its time, 'due' for its turn; 'begun' is in work:
-- found at start, the process died in it, before its final dot. 'committed' means that
-- the dot may have been sent and its reply is not recorded: found at start, it is a
-- doubt. 'held' leaves only once it is released, and is in no other state meanwhile;
-- what it was is kept. What belongs to an email goes with it by DeleteEmail.
CREATE TABLE units (
  email_id  TEXT NOT NULL PRIMARY KEY,
  team_id   TEXT NOT NULL,
  broadcast_id TEXT REFERENCES broadcasts (id), -- NULL: an email
  topic_id  TEXT,             -- NULL: belongs to none
  relay     TEXT NOT NULL,
  domain    TEXT NOT NULL,    -- of the sender
  bulk      INTEGER NOT NULL CHECK (bulk = CASE WHEN broadcast_id IS NULL THEN 0 ELSE 1 END), -- leaves after all that is not
  state     TEXT NOT NULL CHECK (state IN ('later', 'due', 'begun', 'committed', 'held')),
  held      TEXT CHECK (CASE state WHEN 'held' THEN held IS NOT NULL AND held IN ('damaged', 'manual', 'paused', 'restored') ELSE held IS NULL END), -- why it is
  held_at   INTEGER,          -- since when; its clock stands until it is released
  expires_in INTEGER,         -- milliseconds of its clock after which it fails; NULL: as the relay or the server has it
  attempts  INTEGER NOT NULL, -- begun, relay-wide trouble left out
  next_at   INTEGER NOT NULL, -- when it is due; of what is begun: since when
  since     INTEGER,          -- when its clock began; NULL: nothing of it was begun, and it begins at next_at
  stood     TEXT,             -- when that clock stood for this unit alone: FROM-TO,FROM-TO in milliseconds; for all of a relay or team: relay_troubles
  size      INTEGER NOT NULL, -- bytes on the wire, roughly
  dated     INTEGER,          -- of a broadcast: the message's Date
  owed      INTEGER NOT NULL DEFAULT 0, -- recipients that count in team_days when it leaves; 0: they have counted
  late      INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0, 1)), -- it is in the backlog of a daily quota
  crashes   INTEGER NOT NULL DEFAULT 0, -- the latest ones in a row, at each of which it was begun
  deferred_at INTEGER,        -- when its relay first put it off; NULL: it did not
  owner     TEXT,             -- the server that has it in work, where several share a database; NULL: nobody, or the one that there is
  signature TEXT              -- DKIM-Signature of the first dot, for the same bytes again
) STRICT, WITHOUT ROWID;
CREATE INDEX units_due ON units (relay, bulk, team_id, domain, next_at) WHERE state = 'due';
CREATE INDEX units_later ON units (relay, bulk, next_at) WHERE state = 'later';
CREATE INDEX units_clock ON units (relay, team_id, since) WHERE state = 'due' AND since IS NOT NULL; -- what was begun and waits again
CREATE INDEX units_expiry ON units (relay, team_id, (coalesce(since, next_at) + expires_in)) WHERE state = 'due' AND expires_in IS NOT NULL;
CREATE INDEX units_owed ON units (team_id, late, next_at) WHERE owed > 0;
CREATE INDEX units_stopped ON units (team_id, email_id) WHERE broadcast_id IS NULL AND (state = 'held' OR deferred_at IS NOT NULL); -- finds mail that is held or was put off
CREATE INDEX units_topic ON units (topic_id) WHERE topic_id IS NOT NULL;
CREATE INDEX units_broadcast ON units (broadcast_id) WHERE broadcast_id IS NOT NULL;
CREATE INDEX units_paused ON units (broadcast_id) WHERE held = 'paused';

-- The envelope of an email and what became of each recipient. The index finds mail by
-- its recipient, within a team. It would cost each message a page of its own where mail
-- is accepted, so that a row comes into it a minute or two later, with others.
CREATE TABLE recipients (
  email_id TEXT NOT NULL REFERENCES emails (id) ON DELETE CASCADE,
  n        INTEGER NOT NULL,
  address  TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('queued', 'sent', 'delivery_delayed', 'delivered',
    'bounced', 'complained', 'suppressed', 'failed', 'canceled')),
  team_id  TEXT, -- of the email; NULL: it is not in the index yet
  PRIMARY KEY (email_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX recipients_address ON recipients (team_id, lower(address), email_id) WHERE team_id IS NOT NULL;

-- The timeline of an email, or of a recipient of a broadcast. Its first line, the
-- acceptance, is the row in emails or broadcasts itself.
CREATE TABLE events (
  email_id   TEXT NOT NULL,
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  recipient  TEXT,
  detail     TEXT NOT NULL, -- JSON
  created_at INTEGER NOT NULL,
  PRIMARY KEY (email_id, id)
) STRICT, WITHOUT ROWID;

-- Attempts to hand an email, or that of a recipient of a broadcast, to its relay that did
-- not end in success; the newest ten of each. Of the others the events tell.
CREATE TABLE attempts (
  email_id     TEXT NOT NULL,
  id           TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  detail       TEXT NOT NULL, -- JSON, as in events
  conversation TEXT,          -- the dialogue with the relay, without sign-in and message; NULL: there was none
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (email_id, id)
) STRICT;

-- Reports from outside that were taken, so that each counts once; kept 30 days.
-- The id is a keyed hash of the provider's own, which may hold an address.
CREATE TABLE feedback (
  source     TEXT NOT NULL,
  id         BLOB NOT NULL CHECK (length(id) = 16),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (source, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_age ON feedback (created_at);

-- What Amazon SES calls the message of a unit in its reply and in its reports. Its
-- ids begin with the time, so that rows are appended; they go 90 days after the
-- email came.
CREATE TABLE provider_ids (
  id       TEXT NOT NULL PRIMARY KEY,
  email_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX provider_ids_email ON provider_ids (email_id);

-- Transactions whose outcome at the relay is unknown (RFC 5321 4.5.3.2.6).
CREATE TABLE doubts (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL,
  email_id   TEXT NOT NULL,
  broadcast_id TEXT,        -- NULL: an email
  recipients TEXT NOT NULL, -- JSON: addresses
  relay      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  settled    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX doubts_email ON doubts (email_id, id);
CREATE INDEX doubts_team ON doubts (team_id, id);

-- Times when a relay was not there or took nothing, or nothing of one team or of one of
-- its domains; every email that waited shows them.
CREATE TABLE relay_troubles (
  id         TEXT NOT NULL PRIMARY KEY,
  relay      TEXT NOT NULL, -- '': all, the team is suspended
  team_id    TEXT,    -- whose mail it is about; NULL: everybody's
  domain     TEXT,    -- of the sender; NULL: all of the team's
  started_at INTEGER NOT NULL,
  ended_at   INTEGER, -- NULL: still
  failures   INTEGER NOT NULL, -- 0: nothing was tried: no relay, a paused one, a daily limit, a suspended team
  stops_clock INTEGER NOT NULL CHECK (stops_clock IN (0, 1)), -- 1: units do not expire meanwhile: no relay, a suspended team
  detail     TEXT NOT NULL, -- JSON: the latest failure
  owner      TEXT -- the server that met it, where several share a database
) STRICT, WITHOUT ROWID;
CREATE INDEX relay_troubles_relay ON relay_troubles (relay, started_at);
CREATE INDEX relay_troubles_domain ON relay_troubles (team_id, domain) WHERE ended_at IS NULL;
CREATE INDEX relay_troubles_stood ON relay_troubles (relay) WHERE stops_clock = 1;
CREATE INDEX relay_troubles_open ON relay_troubles (relay) WHERE ended_at IS NULL;

-- Relays that were added while the server runs; those of its flags are not here. The
-- URL is sealed, since it holds a password.
CREATE TABLE relays (
  region     TEXT NOT NULL PRIMARY KEY,
  sealed     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Relays, of flags too, through which nothing leaves by the operator's word.
CREATE TABLE relay_pauses (
  region    TEXT NOT NULL PRIMARY KEY,
  paused_at INTEGER NOT NULL,
  until     INTEGER -- NULL: until it is resumed
) STRICT, WITHOUT ROWID;

-- How each relay is, as the server last said it for the commands beside it; written when
-- it changes.
CREATE TABLE relay_states (
  region     TEXT NOT NULL PRIMARY KEY,
  state      TEXT NOT NULL, -- JSON
  sealed     BLOB,          -- a relay of the server's flags, for the test of it; NULL: it is of the database
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the library for certificates by ACME keeps, under its names: certificates with
-- their keys, and the account's key.
CREATE TABLE certificates (
  name       TEXT NOT NULL PRIMARY KEY,
  sealed     BLOB NOT NULL,
  expires_at INTEGER, -- NULL: it is no certificate
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How the certificate of each host is, as the server last said it for the commands beside
-- it; written when it changes.
CREATE TABLE certificate_states (
  host       TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER, -- NULL: there is none
  look_at    INTEGER, -- from when on somebody is to look why it was not renewed
  failures   INTEGER NOT NULL, -- in a row
  failed_at  INTEGER,
  failure    TEXT
) STRICT, WITHOUT ROWID;

-- Messages per relay and minute, kept for relays with a daily limit.
CREATE TABLE relay_usage (
  relay  TEXT NOT NULL,
  minute INTEGER NOT NULL, -- Unix minutes
  sent   INTEGER NOT NULL,
  bulk   INTEGER NOT NULL, -- of them, those of broadcasts
  PRIMARY KEY (relay, minute)
) STRICT, WITHOUT ROWID;

-- Addresses that a team's mail must not go to. They are found by their keyed
-- hash, here and in all that follows; email is what lists show. It is NULL for
-- one that was erased: that still blocks, and is listed no more.
CREATE TABLE suppressions (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  email      TEXT,          -- as given, in lower case
  address    BLOB NOT NULL CHECK (length(address) = 16),
  origin     TEXT NOT NULL CHECK (origin IN ('bounce', 'complaint', 'manual', 'unsubscribe')),
  source_id  TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX suppressions_team ON suppressions (team_id, id) WHERE email IS NOT NULL;
CREATE INDEX suppressions_origin ON suppressions (team_id, origin, id) WHERE email IS NOT NULL;

-- Whole messages of the capture transport, which sends nothing: of emails and of
-- recipients of broadcasts.
CREATE TABLE captures (
  email_id   TEXT NOT NULL PRIMARY KEY,
  message    BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Answers to sends that carried an Idempotency-Key; kept 24 h. A sending-only API key
-- has a scope of its own, so that one that leaked takes no key from another's sends.
CREATE TABLE idempotency (
  team_id    TEXT NOT NULL REFERENCES teams (id),
  scope      TEXT NOT NULL, -- id of a sending-only API key; empty: all others of the team
  route      TEXT NOT NULL,
  key        TEXT NOT NULL,
  hash       BLOB NOT NULL, -- SHA-256 of the canonical body
  response   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, scope, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- The audience of a team. Rows lie in the order of their lists and filters walk
-- them; no foreign key leads here, since memberships are deleted by index with
-- their contact.
CREATE TABLE contacts (
  team_id      TEXT NOT NULL REFERENCES teams (id),
  id           TEXT NOT NULL,
  address      BLOB NOT NULL CHECK (length(address) = 16),
  email        TEXT NOT NULL, -- as given
  first_name   TEXT,
  last_name    TEXT,
  unsubscribed INTEGER NOT NULL CHECK (unsubscribed IN (0, 1)),
  properties   BLOB,          -- JSONB: an object of strings and numbers; NULL: none
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  last_sent_at    INTEGER,    -- when a relay last took an email to it, or a broadcast began it; NULL: never; so the next two
  last_opened_at  INTEGER,    -- a click counts as an open too
  last_clicked_at INTEGER,
  PRIMARY KEY (team_id, id),
  UNIQUE (team_id, address)
) STRICT, WITHOUT ROWID;

-- Addresses that contacts had before they got another: what an old one's link says
-- holds for the contact, and an erasure of it takes them along.
CREATE TABLE former_addresses (
  team_id    TEXT NOT NULL,
  contact_id TEXT NOT NULL,
  address    BLOB NOT NULL CHECK (length(address) = 16),
  email      TEXT NOT NULL, -- as given
  PRIMARY KEY (team_id, contact_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_addresses_address ON former_addresses (team_id, address);

-- Contact properties that were declared; a contact may have others.
CREATE TABLE properties (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  key        TEXT NOT NULL,
  type       TEXT NOT NULL CHECK (type IN ('string', 'number')),
  fallback   TEXT, -- JSON: a string or a number
  created_at INTEGER NOT NULL,
  UNIQUE (team_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX properties_team ON properties (team_id, id);

-- Topics and what addresses chose about them. A choice belongs to an address,
-- contact or not: whoever gets mail can opt out of it. Choices of a deleted
-- topic go piece by piece.
CREATE TABLE topics (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  description  TEXT,
  subscription TEXT NOT NULL CHECK (subscription IN ('opt_in', 'opt_out')), -- of those who chose nothing
  visibility   TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (team_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX topics_team ON topics (team_id, id);

CREATE TABLE choices (
  topic_id     TEXT NOT NULL,
  address      BLOB NOT NULL CHECK (length(address) = 16),
  subscription TEXT NOT NULL CHECK (subscription IN ('opt_in', 'opt_out')),
  chosen_at    INTEGER NOT NULL,
  PRIMARY KEY (topic_id, address)
) STRICT, WITHOUT ROWID;

-- Who chose on a hosted page within the last minute, which webhooks were told at once:
-- what is chosen until then is told together, as it stands at that time.
CREATE TABLE choice_news (
  team_id TEXT NOT NULL REFERENCES teams (id),
  address BLOB NOT NULL CHECK (length(address) = 16),
  topics  TEXT, -- JSON: ids of topics that are still to be told of; NULL: none
  next_at INTEGER NOT NULL, -- when webhooks may be told again
  PRIMARY KEY (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX choice_news_next ON choice_news (next_at);

-- Segments; members are the contacts that were added by hand. Members of a
-- deleted segment go piece by piece.
CREATE TABLE segments (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  name       TEXT NOT NULL,
  filter     TEXT, -- JSON: {match,conditions}; NULL: members by hand alone
  members    INTEGER NOT NULL, -- how many were added by hand
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX segments_team ON segments (team_id, id);

CREATE TABLE members (
  segment_id TEXT NOT NULL,
  contact_id TEXT NOT NULL,
  PRIMARY KEY (segment_id, contact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_contact ON members (contact_id);

-- Topics, segments, webhooks and contact properties that were deleted and of which
-- choices, members, deliveries and values still have to go.
CREATE TABLE leftovers (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL,
  property   TEXT,         -- its key; NULL: a topic, segment or webhook
  contact_id TEXT NOT NULL -- up to this one the values of the property are gone
) STRICT, WITHOUT ROWID;

-- Imports of contacts. The file is kept in pieces until it is worked off; row
-- counts and contacts move in one transaction. How many rows are done is the sum
-- of the counts. One that is deleted goes bit by bit.
CREATE TABLE imports (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  status       TEXT NOT NULL CHECK (status IN ('uploading', 'queued', 'in_progress', 'completed', 'failed', 'deleted')),
  options      TEXT NOT NULL, -- JSON
  stored       INTEGER NOT NULL CHECK (stored IN (0, 1)), -- there may be pieces of the file, or something of one that is deleted
  created      INTEGER NOT NULL,
  updated      INTEGER NOT NULL,
  skipped      INTEGER NOT NULL,
  failed       INTEGER NOT NULL,
  error        TEXT,          -- why the whole import failed
  created_at   INTEGER NOT NULL,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX imports_team ON imports (team_id, id);
CREATE INDEX imports_stored ON imports (status, id) WHERE stored = 1;
CREATE INDEX imports_waiting ON imports (team_id, status, id) WHERE status IN ('in_progress', 'queued', 'uploading');
CREATE INDEX imports_over ON imports (completed_at) WHERE status IN ('completed', 'failed');

CREATE TABLE import_pieces (
  import_id TEXT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
  n         INTEGER NOT NULL,
  content   BLOB NOT NULL,
  PRIMARY KEY (import_id, n)
) STRICT;

-- Rows that an import could not take. The message repeats nothing of the row; erasures
-- clean the value.
CREATE TABLE import_errors (
  import_id TEXT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
  id        TEXT NOT NULL,
  line      INTEGER NOT NULL, -- of the file, from 1
  message   TEXT NOT NULL,
  value     TEXT, -- that could not be taken; NULL: it is of the whole row
  PRIMARY KEY (import_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_errors_value ON import_errors (id) WHERE value IS NOT NULL; -- what erasures look at

-- Where a team has its events sent. The signing secrets are sealed; after a
-- rotation the old one signs beside the new one for a while.
CREATE TABLE webhooks (
  id            TEXT NOT NULL PRIMARY KEY,
  team_id       TEXT NOT NULL REFERENCES teams (id),
  endpoint      TEXT NOT NULL,
  events        TEXT NOT NULL, -- JSON: names of events
  status        TEXT NOT NULL CHECK (status IN ('enabled', 'disabled')),
  secrets       BLOB NOT NULL, -- sealed JSON: [{key,until}], the newest first
  failing_since INTEGER,       -- the first failure since the last success; NULL: it does not fail
  reached       INTEGER NOT NULL, -- webhook_events.seq: what it wants up to there has a delivery
  created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_team ON webhooks (team_id, id);

-- What a webhook wanted until it was changed, where it had not got that far. To an
-- event belongs the first row that reaches it; without one, what the webhook wants
-- now. Rows that it has passed go with time.
CREATE TABLE webhook_terms (
  webhook_id TEXT NOT NULL,
  until      INTEGER NOT NULL, -- webhook_events.seq
  events     TEXT NOT NULL,    -- JSON: names of events; none where it was disabled
  PRIMARY KEY (webhook_id, until)
) STRICT, WITHOUT ROWID;

-- Webhook events, as their deliveries carry them: one row each, however many
-- webhooks want it, written where one of the team that is enabled does, and kept 30
-- days.
CREATE TABLE webhook_events (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL,
  seq        INTEGER NOT NULL, -- counts the team's events in the order of their commits
  type       TEXT NOT NULL,
  payload    TEXT NOT NULL, -- JSON: {type,created_at,data}
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_events_team ON webhook_events (team_id, id);
CREATE INDEX webhook_events_type ON webhook_events (team_id, type, seq);

-- The last seq that a team's webhook_events were given. It outlives them.
CREATE TABLE webhook_event_counts (
  team_id TEXT NOT NULL PRIMARY KEY,
  last    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Webhook events on their way, and how that ended: a row from the first attempt on.
-- Before that an event waits behind webhooks.reached. An attempt and the time of the
-- next one are written before the first byte leaves. No foreign keys: rows of
-- deleted webhooks and of old events go piece by piece.
CREATE TABLE deliveries (
  webhook_id   TEXT NOT NULL,
  event_id TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('pending', 'success', 'failed')),
  attempts     INTEGER NOT NULL, -- begun since the event came, or was last replayed
  next_at      INTEGER,          -- NULL: nothing is left to do
  PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;

CREATE TABLE webhook_attempts (
  webhook_id   TEXT NOT NULL,
  event_id TEXT NOT NULL,
  id           TEXT NOT NULL,
  team_id      TEXT NOT NULL,
  http_status  INTEGER,       -- NULL: no answer came
  response     TEXT NOT NULL, -- how the answer began, or why none came
  sent_at      INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, event_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_attempts_team ON webhook_attempts (team_id, id);

-- Addresses whose traces still have to go from what is stored; sealed.
CREATE TABLE erasures (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  addresses  BLOB NOT NULL, -- sealed JSON: {addresses,until}: folded, and the id up to which they go
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Templates. What is edited and what sends use are two versions; a version never
-- changes, so that a send reads the published one without holding up others.
CREATE TABLE templates (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  alias        TEXT,
  current_id   TEXT NOT NULL, -- the version that is read and edited
  published_id TEXT,          -- the version that is sent; NULL: a draft
  published_at INTEGER,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (team_id, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX templates_team ON templates (team_id, id);

-- Rows are large: this table keeps them out of its key.
CREATE TABLE template_versions (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL,
  template_id TEXT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
  size        INTEGER NOT NULL, -- bytes of html and text
  sender      TEXT,
  reply_to    TEXT,             -- JSON: strings
  subject     TEXT,
  html        TEXT NOT NULL,
  plain       TEXT,             -- NULL: made of html; '': none
  design      TEXT,             -- JSON: what the visual editor made html of; NULL: nothing did
  variables   TEXT              -- JSON
) STRICT;
CREATE INDEX template_versions_template ON template_versions (template_id);

-- What drafts of broadcasts, and templates, said before: kept for a while when another
-- content takes its place, so that it can be had back.
CREATE TABLE versions (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  owner_id   TEXT NOT NULL,    -- of the broadcast or template
  n          INTEGER NOT NULL, -- counts those of the owner
  actor_type TEXT NOT NULL CHECK (actor_type IN ('cli', 'key', 'person', 'server')), -- who changed it
  actor      TEXT NOT NULL,
  content    TEXT NOT NULL,    -- JSON
  created_at INTEGER NOT NULL, -- when it was changed
  UNIQUE (owner_id, n)
) STRICT;
CREATE INDEX versions_team ON versions (team_id, id);
CREATE INDEX versions_age ON versions (created_at);

-- Broadcasts. What lists show, how far each is, and counters that are kept by the
-- Write that makes them change. Recipients are written down in pieces, in the
-- order of the contacts' ids, with contact_id moving in the same transaction; they
-- are begun in that order too, so that what was not begun needs no rows of units.
CREATE TABLE broadcasts (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  segment_id   TEXT,          -- NULL: all contacts
  topic_id     TEXT,
  sender       TEXT NOT NULL, -- JSON: address
  reply_to     TEXT,          -- JSON: addresses
  subject      TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('draft', 'scheduled', 'queued', 'sent', 'canceled')),
  relay        TEXT,          -- NULL: a draft
  mails        TEXT UNIQUE,   -- what the ids of its emails begin with; NULL: not begun
  audience     INTEGER NOT NULL, -- recipients, as counted when it was sent
  bound        TEXT,          -- the newest contact then
  contact_id   TEXT,          -- the last one that was written down; NULL: none yet
  written      INTEGER NOT NULL, -- recipients
  expanded     INTEGER NOT NULL CHECK (expanded IN (0, 1)), -- all of them are
  begun        INTEGER NOT NULL, -- of the written ones
  open         INTEGER NOT NULL, -- units
  held         TEXT CHECK (held IN ('damaged', 'manual', 'restored')), -- why nothing of it leaves; NULL: it is not held
  held_at      INTEGER,
  paused_at    INTEGER,       -- its team paused it: nothing more of it leaves until the team resumes it; NULL: it is not paused
  sent         INTEGER NOT NULL DEFAULT 0, -- taken by the relay; and so on: recipients, each once
  delivery_delayed INTEGER NOT NULL DEFAULT 0,
  delivered    INTEGER NOT NULL DEFAULT 0,
  opened       INTEGER NOT NULL DEFAULT 0,
  clicked      INTEGER NOT NULL DEFAULT 0,
  bounced      INTEGER NOT NULL DEFAULT 0,
  complained   INTEGER NOT NULL DEFAULT 0,
  suppressed   INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  canceled     INTEGER NOT NULL DEFAULT 0, -- of the begun ones
  unsubscribed INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL,
  scheduled_at INTEGER,
  queued_at    INTEGER,       -- when it was frozen and the first could leave
  sent_at      INTEGER,       -- when the last one was through
  canceled_at  INTEGER,
  aged_id      TEXT,          -- the last recipient that was looked at for its age; NULL: none yet
  aged         INTEGER NOT NULL DEFAULT 0 CHECK (aged IN (0, 1)) -- all of them were
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcasts_aging ON broadcasts (team_id, aged, id) WHERE status IN ('sent', 'canceled');
CREATE INDEX broadcasts_team ON broadcasts (team_id, id);
CREATE INDEX broadcasts_mails ON broadcasts (team_id, mails) WHERE mails IS NOT NULL;
CREATE INDEX broadcasts_open ON broadcasts (team_id) WHERE status IN ('scheduled', 'queued');
CREATE INDEX broadcasts_status ON broadcasts (status, id);
CREATE INDEX broadcasts_segment ON broadcasts (segment_id) WHERE segment_id IS NOT NULL AND status IN ('draft', 'scheduled', 'queued');
CREATE INDEX broadcasts_topic ON broadcasts (topic_id) WHERE topic_id IS NOT NULL AND status IN ('draft', 'scheduled', 'queued');

-- What a broadcast says, once for all its recipients. Rows are large.
CREATE TABLE broadcast_contents (
  broadcast_id TEXT NOT NULL PRIMARY KEY REFERENCES broadcasts (id) ON DELETE CASCADE,
  preview TEXT,
  html    TEXT,
  plain   TEXT, -- NULL: made of html; '': none
  design  TEXT, -- JSON: what the visual editor made html of; NULL: nothing did
  frozen  TEXT, -- JSON: what the send fixed beside the content; NULL: not sent yet
  sum     INTEGER NOT NULL -- CRC-32C of preview, html and plain
) STRICT;

-- Recipients of broadcasts, in the order in which they are sent to. An id is that
-- of an email: the broadcast's mails and eight digits, the number in hexadecimal.
-- Contacts are walked in the order of their ids up to a bound, and a team has each
-- address once, so none stands here twice.
CREATE TABLE broadcast_recipients (
  id         TEXT NOT NULL PRIMARY KEY,
  contact_id TEXT NOT NULL,
  email      TEXT NOT NULL,
  fields     TEXT,            -- JSON: the contact's values that the content asks for
  seen       INTEGER NOT NULL -- bits of what happened: app.Seen
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcast_recipients_contact ON broadcast_recipients (substr(id, 1, 28), contact_id); -- finds what happened to a contact, for segments; in the order of the table

-- Links of broadcasts and who followed them.
CREATE TABLE broadcast_links (
  broadcast_id TEXT NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
  n      INTEGER NOT NULL,
  id     TEXT NOT NULL,
  url    TEXT NOT NULL, -- as the content has it
  clicks INTEGER NOT NULL,
  people INTEGER NOT NULL, -- recipients who followed it
  PRIMARY KEY (broadcast_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE broadcast_clicks (
  recipient_id TEXT NOT NULL REFERENCES broadcast_recipients (id) ON DELETE CASCADE,
  n            INTEGER NOT NULL, -- of the link
  clicks       INTEGER NOT NULL,
  PRIMARY KEY (recipient_id, n)
) STRICT, WITHOUT ROWID;

-- How far a team's emails were looked at for their age, in the order of their ids. What
-- was too young then, or not over, stands in too_young.
CREATE TABLE aged (
  team_id  TEXT NOT NULL REFERENCES teams (id),
  kind     TEXT NOT NULL CHECK (kind IN ('content', 'email')),
  email_id TEXT NOT NULL, -- the last one
  PRIMARY KEY (team_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE too_young (
  team_id  TEXT NOT NULL REFERENCES teams (id),
  kind     TEXT NOT NULL CHECK (kind IN ('content', 'email', 'recipient')),
  at       INTEGER NOT NULL, -- its last result; of what is not over: when that was found
  email_id TEXT NOT NULL,    -- of an email, or of a recipient of a broadcast
  PRIMARY KEY (team_id, kind, at, email_id)
) STRICT, WITHOUT ROWID;

-- For whom the unsubscribe links of deleted emails to several recipients stand: such a
-- link names its email alone.
CREATE TABLE former_envelopes (
  email_id TEXT NOT NULL,
  team_id  TEXT NOT NULL REFERENCES teams (id),
  address  BLOB NOT NULL CHECK (length(address) = 16),
  PRIMARY KEY (email_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_envelopes_address ON former_envelopes (team_id, address);

-- What was changed, and by whom: keys, domains, webhooks, relays, plans, retention,
-- suppressions removed by hand, exports, backups, acts on the queue. Only appended to;
-- kept 400 days.
CREATE TABLE audit_logs (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT,          -- NULL: it is about the server
  actor_type TEXT NOT NULL CHECK (actor_type IN ('cli', 'key', 'person', 'server')),
  actor      TEXT NOT NULL, -- id of a key or person, name of the system's user
  address    TEXT,          -- IP address; NULL: not over the network
  action     TEXT NOT NULL, -- like 'queue.drop'
  target     TEXT,          -- id or name of what was changed; NULL: the server, or many
  before     TEXT,          -- JSON, without secrets
  after      TEXT,          -- JSON, without secrets
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_logs_team ON audit_logs (team_id, id) WHERE team_id IS NOT NULL;
CREATE INDEX audit_logs_action ON audit_logs (team_id, action, id) WHERE team_id IS NOT NULL;
CREATE INDEX audit_logs_actor ON audit_logs (team_id, actor, id) WHERE team_id IS NOT NULL;
CREATE INDEX audit_logs_target ON audit_logs (team_id, target, id) WHERE team_id IS NOT NULL;

-- People who sign in; keys are for programs.
CREATE TABLE users (
  id         TEXT NOT NULL PRIMARY KEY,
  address    TEXT NOT NULL UNIQUE, -- lower case
  name       TEXT NOT NULL,        -- '': not said
  password   TEXT,                 -- argon2id with its parameters and salt; NULL: none, only links and passkeys
  language   TEXT,                 -- of the dashboard; NULL: the browser's
  theme      TEXT CHECK (theme IN ('light', 'dark')), -- NULL: the system's
  operator   INTEGER NOT NULL CHECK (operator IN (0, 1)), -- stands above teams
  only_team  TEXT,                 -- whose invitation made the account: it belongs to no other team as long as nobody proved to have the address; NULL: proven
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX users_operator ON users (id) WHERE operator = 1;

-- Who belongs to which team, and as what.
CREATE TABLE memberships (
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  role_since INTEGER, -- when the role was changed: sessions from before reach the team no more; NULL: since the person joined
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, team_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_team ON memberships (team_id, user_id);

-- Who was asked to join a team; the codes of the links are kept as SHA-256. The link that
-- was mailed proves the address, the one that is shown to who invites does not.
CREATE TABLE invitations (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  address    TEXT NOT NULL, -- lower case
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  hash       BLOB NOT NULL UNIQUE, -- of the link that is shown
  mailed     BLOB UNIQUE,          -- of the link that was mailed; NULL: none was
  vouched    INTEGER NOT NULL CHECK (vouched IN (0, 1)), -- an operator invited: the link that is shown proves the address too
  invited_by TEXT NOT NULL, -- id of the person or key, name of the system's user
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_team ON invitations (team_id, id);
CREATE INDEX invitations_expires ON invitations (expires_at);
CREATE INDEX invitations_address ON invitations (address, id);

-- When a team's latest invitation was mailed to an address, also where that was taken back;
-- kept for a day.
CREATE TABLE invitation_mails (
  team_id TEXT NOT NULL REFERENCES teams (id),
  hash    BLOB NOT NULL, -- SHA-256 of the address
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_mails_hash ON invitation_mails (hash);
CREATE INDEX invitation_mails_sent ON invitation_mails (sent_at);

-- Who is signed in; the token of the cookie is kept as SHA-256. A half session waits for
-- its second factor and reaches nothing else.
CREATE TABLE sessions (
  id         TEXT NOT NULL PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash       BLOB NOT NULL UNIQUE,
  half       INTEGER NOT NULL CHECK (half IN (0, 1)),
  device     TEXT NOT NULL, -- the browser, as it named itself
  address    TEXT NOT NULL, -- IP address
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL, -- to five minutes
  proved_at  INTEGER NOT NULL  -- when the person last proved to be there
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_seen ON sessions (seen_at);
CREATE INDEX sessions_created ON sessions (half, created_at);

-- Browsers in which somebody signed in before: others' wrong guesses do not slow them.
CREATE TABLE devices (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash    BLOB NOT NULL, -- SHA-256 of the device's cookie, which people of one browser share
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_user ON devices (user_id, seen_at);
CREATE INDEX devices_hash ON devices (hash);
CREATE INDEX devices_seen ON devices (seen_at);

-- Links that open once: the first run's, which makes the first account, and those that
-- sign somebody in.
CREATE TABLE sign_in_codes (
  hash       BLOB NOT NULL PRIMARY KEY, -- SHA-256
  user_id    TEXT REFERENCES users (id) ON DELETE CASCADE, -- NULL: the first run's
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_codes_user ON sign_in_codes (user_id);
CREATE INDEX sign_in_codes_expires ON sign_in_codes (expires_at);

-- Second factors: time-based one-time passwords (RFC 6238).
CREATE TABLE totp (
  user_id      TEXT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  sealed       BLOB NOT NULL,
  step         INTEGER NOT NULL, -- the latest that was used: each counts once
  confirmed_at INTEGER,          -- NULL: not in force yet
  wrong        INTEGER NOT NULL DEFAULT 0, -- wrong ones within a day of wrong_since, in browsers that are not known
  wrong_known  INTEGER NOT NULL DEFAULT 0, -- and in those that are (devices)
  wrong_since  INTEGER NOT NULL DEFAULT 0  -- when the first of them came
) STRICT, WITHOUT ROWID;

-- What signs in once where the second factor is lost.
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash    BLOB NOT NULL, -- SHA-256 of the code, which is random
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Passkeys (WebAuthn).
CREATE TABLE passkeys (
  id           TEXT NOT NULL PRIMARY KEY,
  user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id BLOB NOT NULL UNIQUE,
  name         TEXT NOT NULL,
  credential   TEXT NOT NULL, -- JSON, the library's own; a public key
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_user ON passkeys (user_id, id);
