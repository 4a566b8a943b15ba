-- The complete schema of a new Mailer database.
--
-- Ids are UUID v7 as text, so their order is the order of creation. Times are
-- Unix milliseconds. JSON columns are written and read as a whole by Go. States are
-- CHECK lists. Lists are read by keyset on an index that starts with team_id.

-- Settings and notes of the server: its relays and address for commands that run next
-- to it, and sealed values under names that begin with 'sealed.'. sealed.flags has the
-- settings that an operator changed at run time.
CREATE TABLE settings (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each migration of this database, and one for its creation. The newest row is its
-- version. A file has the version in PRAGMA user_version too.
CREATE TABLE schema_versions (
  version     INTEGER NOT NULL PRIMARY KEY,
  min_version INTEGER NOT NULL, -- version of the oldest program that may work on the database
  program     TEXT NOT NULL,    -- version of the program that wrote the row, as mailer version prints it
  sum         TEXT NOT NULL,    -- hash of the schema of that program
  made_at     INTEGER NOT NULL
) STRICT;

-- Teams own the rows of all tables below. No team sees rows of another.
CREATE TABLE teams (
  id         TEXT NOT NULL PRIMARY KEY,
  name       TEXT NOT NULL, -- not unique: a team must not learn the names of others
  contacts   INTEGER NOT NULL DEFAULT 0, -- number of contacts
  suppressions INTEGER NOT NULL DEFAULT 0, -- number of listed suppressions, without erased ones
  guardrail  TEXT NOT NULL DEFAULT 'ok' CHECK (guardrail IN ('ok', 'warning', 'paused')), -- the last judgement
  suspended_at INTEGER,       -- since when the operator suspended sending; NULL: not suspended
  suspended  TEXT,            -- the reason shown to callers; NULL: not suspended
  keep_content    INTEGER,    -- milliseconds; 0: no limit; NULL: the server's setting; the same for the next two
  keep_emails     INTEGER,
  keep_broadcasts INTEGER,
  logo_url   TEXT,            -- URL of a logo on another server; NULL: none
  logo_id    TEXT,            -- id in logos of the uploaded logo; NULL: none
  color      TEXT,            -- of buttons and links, as #rrggbb; NULL: default
  font       TEXT,            -- name of a font stack; NULL: the reader's default
  footer     TEXT,            -- plain text at the end of visual emails; NULL: none
  page       TEXT,            -- JSON: colours, texts and link of the hosted pages; NULL: default
  second_factor INTEGER NOT NULL DEFAULT 0 CHECK (second_factor IN (0, 1)), -- members need a second factor
  deleted_at INTEGER,         -- since when the team is being deleted, in steps and this row last; NULL: not deleted
  image_bytes INTEGER NOT NULL DEFAULT 0, -- of its images, and a fixed number for each
  created_at INTEGER NOT NULL,
  time_zone TEXT, -- IANA name, of contacts without one; NULL: UTC
  reply_addresses INTEGER CHECK (reply_addresses IN (0, 1)) -- 1: mail without reply_to gets an address that names the email; NULL: not
) STRICT, WITHOUT ROWID;
CREATE INDEX teams_name ON teams (name);
CREATE INDEX teams_suspended ON teams (id) WHERE suspended_at IS NOT NULL;
CREATE INDEX teams_deleted ON teams (id) WHERE deleted_at IS NOT NULL;

-- Uploaded logos of teams. A replaced logo is kept, because sent email shows it, up to
-- the newest ten of a team.
CREATE TABLE logos (
  id         TEXT NOT NULL PRIMARY KEY, -- SHA-256 of team and content, so that it cannot be guessed
  team_id    TEXT NOT NULL REFERENCES teams (id),
  type       TEXT NOT NULL CHECK (type IN ('image/png', 'image/jpeg')),
  width      INTEGER NOT NULL, -- pixels
  height     INTEGER NOT NULL,
  content    BLOB NOT NULL,
  created_at INTEGER NOT NULL  -- last upload
) STRICT;
CREATE INDEX logos_team ON logos (team_id, created_at, id);

-- Images for mail. The same file of a team is stored once. An image that content refers to is only
-- deleted by hand.
CREATE TABLE images (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name        TEXT NOT NULL UNIQUE, -- in its URL: a keyed hash of team and uploaded file
  type        TEXT NOT NULL CHECK (type IN ('image/gif', 'image/jpeg', 'image/png')),
  alt         TEXT,             -- alternative text; NULL: none
  on_base     INTEGER NOT NULL CHECK (on_base IN (0, 1)), -- the host of the base URL serves it
  sizes       TEXT NOT NULL,    -- JSON: [{width,height,bytes}], the widest first
  used_at     INTEGER,          -- when content with its address was first stored; NULL: never
  uploaded_at INTEGER NOT NULL, -- last upload of the same file
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX images_team ON images (team_id, id);
CREATE INDEX images_unused ON images (uploaded_at) WHERE used_at IS NULL;

-- Contents of images in pieces of 64 KiB, the last one shorter.
CREATE TABLE image_pieces (
  image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
  size     INTEGER NOT NULL, -- number in images.sizes, from 0
  n        INTEGER NOT NULL,
  sum      INTEGER NOT NULL, -- CRC-32C of content
  content  BLOB NOT NULL,
  PRIMARY KEY (image_id, size, n)
) STRICT;

-- Recipients counted for a team on a UTC day, for quotas. An email counts when it is
-- accepted or, if scheduled, when it is sent; a broadcast recipient when it is started.
CREATE TABLE team_days (
  team_id    TEXT NOT NULL REFERENCES teams (id),
  day        INTEGER NOT NULL, -- Unix days
  recipients INTEGER NOT NULL,
  quota_event INTEGER NOT NULL DEFAULT 0 CHECK (quota_event IN (0, 1, 2)), -- the day's quota event that was sent: 1 quota.warning, 2 quota.reached
  PRIMARY KEY (team_id, day)
) STRICT, WITHOUT ROWID;

-- Plans of teams, in cloud mode. A team without a row has the free plan.
CREATE TABLE team_plans (
  team_id  TEXT NOT NULL PRIMARY KEY REFERENCES teams (id),
  name     TEXT NOT NULL CHECK (name IN ('free', 'starter', 'pro', 'scale')),
  included INTEGER,          -- recipients per period; NULL: as the plan includes
  overage  INTEGER NOT NULL CHECK (overage IN (0, 1)),
  since    INTEGER NOT NULL, -- the midnight before the monthly plan began: periods begin on that day of the month
  quota_event_at INTEGER,    -- start of the period of quota_event
  quota_event INTEGER NOT NULL DEFAULT 0 CHECK (quota_event IN (0, 1, 2)) -- as in team_days
) STRICT, WITHOUT ROWID;

-- Recipients of accepted emails that are not yet counted in team_days: the sums of
-- units.owed, in cloud mode.
CREATE TABLE team_backlogs (
  team_id   TEXT NOT NULL PRIMARY KEY REFERENCES teams (id),
  late      INTEGER NOT NULL, -- of units that wait for a daily quota
  scheduled INTEGER NOT NULL  -- of other units
) STRICT, WITHOUT ROWID;

-- Outcomes of recipients by hour: charts, and the rates of guardrails and
-- deliverability; kept 400 days. Each outcome of a recipient counts once, except opens
-- and clicks. The rows with the team_id '' have the sums of rated columns of all teams by
-- region. A commit updates each row once. Without foreign keys, so that a count never
-- fails a commit.
CREATE TABLE mail_counts (
  team_id      TEXT NOT NULL,
  hour         INTEGER NOT NULL, -- Unix hours
  domain       TEXT NOT NULL,    -- of the sender
  broadcast_id TEXT NOT NULL,    -- '': emails
  region       TEXT NOT NULL,    -- of the relay
  sent         INTEGER NOT NULL, -- accepted or refused individually by a relay, or test recipients
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
  rated            INTEGER NOT NULL DEFAULT 0, -- recipients that a relay accepted or refused individually, in the hour of its answer
  rated_bounced    INTEGER NOT NULL DEFAULT 0, -- invalid addresses, in the hour of the report
  rated_complained INTEGER NOT NULL DEFAULT 0, -- in the hour of the report
  scored       INTEGER NOT NULL DEFAULT 0, -- of rated, those whose email has a score
  points       INTEGER NOT NULL DEFAULT 0, -- sum of the scores, in hundredths
  PRIMARY KEY (team_id, hour, domain, broadcast_id, region)
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_counts_bad ON mail_counts (region, hour, team_id, rated_bounced, rated_complained) WHERE (rated_bounced > 0 OR rated_complained > 0) AND team_id <> '';

-- API requests without their bodies, kept 30 days. An id is the request id, which
-- begins with the time of arrival.
CREATE TABLE request_logs (
  team_id    TEXT NOT NULL,
  id         TEXT NOT NULL,
  key_id     TEXT,             -- NULL: made by a person
  user_id    TEXT,             -- NULL: made with a key
  method     TEXT NOT NULL,
  endpoint   TEXT NOT NULL,    -- path as requested, without query
  status     INTEGER NOT NULL, -- HTTP
  micros     INTEGER NOT NULL, -- duration
  user_agent TEXT,
  error      TEXT,             -- error name; NULL: success
  email_id   TEXT,             -- the only email that it created
  addresses  INTEGER NOT NULL CHECK (addresses IN (0, 1)), -- endpoint or user_agent may contain an address
  PRIMARY KEY (team_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_logs_addresses ON request_logs (team_id, id) WHERE addresses = 1;

-- API keys: the public part and the SHA-256 of the secret part, never the secret.
CREATE TABLE keys (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  permission   TEXT NOT NULL CHECK (permission IN ('full_access', 'sending_access')),
  role         TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  domain_id    TEXT REFERENCES domains (id) ON DELETE CASCADE, -- NULL: any domain
  public       TEXT NOT NULL UNIQUE,
  hash         BLOB NOT NULL,
  expires_at   INTEGER, -- NULL: never
  allowed_ips  TEXT,    -- JSON: IP ranges that may use it; NULL: any
  made_by      TEXT,    -- id of the person or key that created it; NULL: the command line
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_team ON keys (team_id, id);
CREATE INDEX keys_made ON keys (made_by, id) WHERE made_by IS NOT NULL;
CREATE INDEX keys_domain ON keys (domain_id) WHERE domain_id IS NOT NULL;

-- Sending domains with their settings and the result of DNS checks.
CREATE TABLE domains (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL REFERENCES teams (id),
  name        TEXT NOT NULL, -- lower-case A-labels
  status      TEXT NOT NULL CHECK (status IN ('not_started', 'pending', 'verified', 'failed')),
  trusted     INTEGER NOT NULL CHECK (trusted IN (0, 1)), -- the operator trusts it: no check revokes its verification
  region      TEXT NOT NULL,
  return_path TEXT NOT NULL,  -- one label
  open_tracking      INTEGER NOT NULL CHECK (open_tracking IN (0, 1)),
  click_tracking     INTEGER NOT NULL CHECK (click_tracking IN (0, 1)),
  tracking_subdomain TEXT,    -- one label or more
  checks      TEXT,           -- JSON: result of the last check; NULL: none yet
  no_dmarc    INTEGER NOT NULL DEFAULT 0 CHECK (no_dmarc IN (0, 1)), -- the last check found no DMARC policy
  checked_at  INTEGER,
  check_at    INTEGER,        -- next check; NULL: never
  pending_since INTEGER,      -- start of the 72 hours
  created_at  INTEGER NOT NULL,
  receiving   INTEGER CHECK (receiving IN (0, 1)), -- 1: the team wants mail for the domain; NULL: not
  receives_at INTEGER,        -- when a check last found all that receiving needs; NULL: never
  receives    INTEGER CHECK (receives IN (0, 1)), -- 1: the last check found it; NULL: not
  report_sources TEXT,        -- JSON: addresses that the team named as sending for it or not; NULL: none
  UNIQUE (team_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX domains_team ON domains (team_id, id);
CREATE INDEX domains_name ON domains (name);
CREATE INDEX domains_due ON domains (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX domains_tracking ON domains (id) WHERE tracking_subdomain IS NOT NULL;

-- DKIM key pairs of domains; the private key is sealed. One key of a domain signs. The
-- next key waits until its record is published. A retired key stays listed for a while,
-- because mail that it signed is still in transit.
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

-- What opens the DNS zone of a domain, if it was remembered: provider, token and server as sealed
-- JSON.
CREATE TABLE dns_credentials (
  domain_id  TEXT NOT NULL PRIMARY KEY REFERENCES domains (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL CHECK (provider IN ('cloudflare', 'hetzner', 'rfc2136')),
  sealed     BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- DNS records that this server published as a whole. Only these are replaced and removed later.
CREATE TABLE dns_published (
  domain_id  TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL CHECK (type IN ('TXT', 'MX', 'CNAME')),
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (domain_id, name, type, value)
) STRICT, WITHOUT ROWID;

-- Emails as lists show them. Bodies and attachments are in separate tables.
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
  template_id  TEXT, -- the template that it was made from
  source       TEXT NOT NULL CHECK (source IN ('account', 'api', 'cli', 'dashboard', 'mcp', 'resend', 'smtp')), -- how it was submitted; account: by Mailer itself
  created_at   INTEGER NOT NULL,
  scheduled_at INTEGER,
  last_event   TEXT NOT NULL CHECK (last_event IN ('queued', 'scheduled', 'sent', 'delivery_delayed',
    'delivered', 'opened', 'clicked', 'bounced', 'complained', 'suppressed', 'failed', 'canceled')),
  content_deleted_at INTEGER, -- when retention or an erasure deleted the content, which is removed in steps; NULL: not deleted
  imported_at  INTEGER,       -- when it was imported as history: another server sent it, and this server never does; NULL: not imported
  unsent       INTEGER NOT NULL DEFAULT 0 CHECK (unsent IN (0, 1)), -- 1: the record of a send refused because all of its recipients are suppressed; only lists that ask for it include it
  routed       TEXT,          -- the rules by which its relays were chosen, in words; NULL: none
  for_opt_in   TEXT, -- id of the opt-in that it confirms, so that lists and webhooks leave it out; NULL: another email
  automation_run TEXT, -- run of an automation that sent it; NULL: none
  automation_step TEXT, -- key of the step
  forward_id TEXT -- destination to which it forwards a received email; NULL: another email
) STRICT, WITHOUT ROWID;
CREATE INDEX emails_team ON emails (team_id, id);
CREATE INDEX emails_unsent ON emails (team_id, created_at) WHERE unsent = 1;

-- Contents of emails; never changed after acceptance, except that erasures remove
-- addresses from headers and delete raw messages. Rows are large, so this table and the
-- pieces of attachments keep them out of the B-tree of the key.
CREATE TABLE contents (
  email_id TEXT NOT NULL PRIMARY KEY REFERENCES emails (id) ON DELETE CASCADE,
  html        TEXT,
  plain       TEXT,
  headers     TEXT, -- JSON: [{name,value}]
  unsubscribe TEXT, -- URL of the unsubscribe page; NULL: none
  tracking    TEXT, -- JSON: {base,open,click,pages}; NULL: not tracked
  insights    TEXT, -- JSON: {version,found}; NULL: not examined
  raw         INTEGER, -- bytes of the message in raw_pieces, which is sent unchanged; NULL: the message is composed from this row
  sum         INTEGER NOT NULL -- CRC-32C of html, plain, headers and unsubscribe: a damaged page must not be sent as mail
) STRICT;

-- Sealed contents of emails that Mailer itself sends to people: they may have a link
-- for that person only. contents has a text for others.
CREATE TABLE account_texts (
  email_id TEXT NOT NULL PRIMARY KEY REFERENCES contents (email_id) ON DELETE CASCADE,
  sealed   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Attachments of emails, and of broadcasts: once for all recipients.
CREATE TABLE attachments (
  id           TEXT NOT NULL PRIMARY KEY,
  email_id     TEXT REFERENCES emails (id) ON DELETE CASCADE,     -- NULL: of a broadcast
  broadcast_id TEXT REFERENCES broadcasts (id) ON DELETE CASCADE, -- NULL: of an email
  filename     TEXT NOT NULL,
  content_type TEXT NOT NULL,
  content_id   TEXT, -- by which the HTML embeds it; NULL: not embedded
  size         INTEGER NOT NULL,
  CHECK ((email_id IS NULL) <> (broadcast_id IS NULL))
) STRICT;
CREATE INDEX attachments_email ON attachments (email_id, id);
CREATE INDEX attachments_broadcast ON attachments (broadcast_id, id) WHERE broadcast_id IS NOT NULL;

-- Contents of attachments in pieces of 256 KiB, the last one shorter: SQLite reads a
-- part of a large value by reading all before it. An empty file has none.
CREATE TABLE attachment_pieces (
  attachment_id TEXT NOT NULL REFERENCES attachments (id) ON DELETE CASCADE,
  n             INTEGER NOT NULL,
  sum           INTEGER NOT NULL, -- CRC-32C of content
  content       BLOB NOT NULL,
  PRIMARY KEY (attachment_id, n)
) STRICT;

-- Complete messages submitted by SMTP, as they are sent, in pieces like attachments.
-- The tables above have their contents too, for display.
CREATE TABLE raw_pieces (
  email_id TEXT NOT NULL REFERENCES emails (id) ON DELETE CASCADE,
  n        INTEGER NOT NULL,
  sum      INTEGER NOT NULL, -- CRC-32C of content
  content  BLOB NOT NULL,
  PRIMARY KEY (email_id, n)
) STRICT;

-- Units: open work only. A unit is one SMTP transaction for an email, or for one
-- broadcast recipient, whose id is in email_id. The row is deleted when nothing is left
-- to try. 'later' waits for next_at, 'due' waits for capacity, 'begun' is in progress:
-- if found at start, the process died before the final dot. 'committed': the final dot
-- may have been sent and its reply is not stored; if found at start, it is a doubt.
-- 'held' waits for a release and keeps its former values. DeleteEmail deletes the
-- dependent rows of an email.
CREATE TABLE units (
  email_id  TEXT NOT NULL PRIMARY KEY,
  team_id   TEXT NOT NULL,
  broadcast_id TEXT REFERENCES broadcasts (id), -- NULL: an email
  topic_id  TEXT,             -- NULL: none
  relay     TEXT NOT NULL,
  domain    TEXT NOT NULL,    -- of the sender
  bulk      INTEGER NOT NULL CHECK (bulk = CASE WHEN broadcast_id IS NULL THEN 0 ELSE 1 END), -- sent after units that are not bulk
  state     TEXT NOT NULL CHECK (state IN ('later', 'due', 'begun', 'committed', 'held')),
  held      TEXT CHECK (CASE state WHEN 'held' THEN held IS NOT NULL AND held IN ('damaged', 'manual', 'paused', 'restored') ELSE held IS NULL END), -- reason
  held_at   INTEGER,          -- since when; the expiry clock stops until the release
  expires_in INTEGER,         -- milliseconds on the expiry clock after which it fails; NULL: the setting of relay or server
  attempts  INTEGER NOT NULL, -- begun, without those that failed by trouble of the whole relay
  next_at   INTEGER NOT NULL, -- when it is due; in progress: since when
  since     INTEGER,          -- start of the expiry clock; NULL: no attempt began, and the clock starts at next_at
  stood     TEXT,             -- pauses of the clock for this unit only: FROM-TO,FROM-TO in milliseconds; those of a relay or team are in relay_troubles
  size      INTEGER NOT NULL, -- approximate bytes of the message
  dated     INTEGER,          -- of a broadcast: Date of the message
  owed      INTEGER NOT NULL DEFAULT 0, -- recipients to count in team_days when it is sent; 0: already counted
  late      INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0, 1)), -- waits for a daily quota
  crashes   INTEGER NOT NULL DEFAULT 0, -- consecutive latest crashes during which it was in progress
  deferred_at INTEGER,        -- when the relay first deferred it; NULL: never
  owner     TEXT,             -- the server that has it in progress, if several share a database; NULL: none, or the only one
  signature TEXT,             -- DKIM-Signature of the first committed attempt, for the same bytes again
  part      TEXT, -- of an email with recipients in several queues: the queue of those that it is sent to next; NULL: to all
  automated INTEGER CHECK (automated IN (0, 1)) -- of an automation: 1 needs the consent of its recipient, 0 does not; NULL: other mail
) STRICT, WITHOUT ROWID;
CREATE INDEX units_due ON units (relay, bulk, team_id, domain, next_at) WHERE state = 'due';
CREATE INDEX units_later ON units (relay, bulk, next_at) WHERE state = 'later';
CREATE INDEX units_clock ON units (relay, team_id, since) WHERE state = 'due' AND since IS NOT NULL; -- units that wait for another attempt
CREATE INDEX units_expiry ON units (relay, team_id, (coalesce(since, next_at) + expires_in)) WHERE state = 'due' AND expires_in IS NOT NULL;
CREATE INDEX units_owed ON units (team_id, late, next_at) WHERE owed > 0;
CREATE INDEX units_stopped ON units (team_id, email_id) WHERE broadcast_id IS NULL AND (state = 'held' OR deferred_at IS NOT NULL); -- finds mail that is held or deferred
CREATE INDEX units_topic ON units (topic_id) WHERE topic_id IS NOT NULL;
CREATE INDEX units_broadcast ON units (broadcast_id) WHERE broadcast_id IS NOT NULL;
CREATE INDEX units_automated ON units (team_id) WHERE automated IS NOT NULL;
CREATE INDEX units_paused ON units (broadcast_id) WHERE held = 'paused';

-- The envelope of an email with the state of each recipient. The index finds mail by
-- recipient within a team. Because an index entry would cost one page per message at
-- acceptance, rows are added to it in batches a minute or two later.
CREATE TABLE recipients (
  email_id TEXT NOT NULL REFERENCES emails (id) ON DELETE CASCADE,
  n        INTEGER NOT NULL,
  address  TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('queued', 'sent', 'delivery_delayed', 'delivered',
    'bounced', 'complained', 'suppressed', 'failed', 'canceled')),
  team_id  TEXT, -- of the email; NULL: not in the index yet
  queue    TEXT, -- of an email with recipients in several queues: see units.part; NULL: that of the unit
  PRIMARY KEY (email_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX recipients_address ON recipients (team_id, lower(address), email_id) WHERE team_id IS NOT NULL;

-- Events in the timeline of an email or broadcast recipient. The first event, the
-- acceptance, is the row in emails or broadcasts.
CREATE TABLE events (
  email_id   TEXT NOT NULL,
  id         TEXT NOT NULL,
  type       TEXT NOT NULL,
  recipient  TEXT,
  detail     TEXT NOT NULL, -- JSON
  created_at INTEGER NOT NULL,
  PRIMARY KEY (email_id, id)
) STRICT, WITHOUT ROWID;

-- Unsuccessful attempts to send an email or broadcast email, the newest ten of each.
-- Successful ones are events.
CREATE TABLE attempts (
  email_id     TEXT NOT NULL,
  id           TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  detail       TEXT NOT NULL, -- JSON, as in events
  conversation TEXT,          -- dialogue with the relay, without credentials and message; NULL: none
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (email_id, id)
) STRICT;

-- Processed reports of bounces and complaints, so that each counts once; kept 30 days.
-- The id is a keyed hash of the provider's id, which may contain an address.
CREATE TABLE feedback (
  source     TEXT NOT NULL,
  id         BLOB NOT NULL CHECK (length(id) = 16),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (source, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_age ON feedback (created_at);

-- The ids that Amazon SES gives to messages in replies and reports. They begin with the
-- time, so rows are appended. Kept 90 days after the email was accepted.
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

-- Times when a relay was missing or accepted nothing, from all, one team or one of its
-- domains. Every email that waited shows them.
CREATE TABLE relay_troubles (
  id         TEXT NOT NULL PRIMARY KEY,
  relay      TEXT NOT NULL, -- '': all relays, the team is suspended
  team_id    TEXT,    -- the affected team; NULL: all
  domain     TEXT,    -- of the sender; NULL: all of the team
  started_at INTEGER NOT NULL,
  ended_at   INTEGER, -- NULL: not ended
  failures   INTEGER NOT NULL, -- 0: nothing was tried: no relay, a paused relay, a daily limit, a suspended team
  stops_clock INTEGER NOT NULL CHECK (stops_clock IN (0, 1)), -- 1: expiry clocks stop: no relay, a suspended team
  detail     TEXT NOT NULL, -- JSON: the latest failure
  owner      TEXT -- the server that recorded it, if several share a database
) STRICT, WITHOUT ROWID;
CREATE INDEX relay_troubles_relay ON relay_troubles (relay, started_at);
CREATE INDEX relay_troubles_domain ON relay_troubles (team_id, domain) WHERE ended_at IS NULL;
CREATE INDEX relay_troubles_stood ON relay_troubles (relay) WHERE stops_clock = 1;
CREATE INDEX relay_troubles_open ON relay_troubles (relay) WHERE ended_at IS NULL;

-- Relays added at run time; those of flags are not stored. The URL is sealed, because
-- it contains a password.
CREATE TABLE relays (
  region     TEXT NOT NULL PRIMARY KEY,
  sealed     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Regions with several relays, or for which the operator chose something.
CREATE TABLE regions (
  name       TEXT NOT NULL PRIMARY KEY,
  settings   TEXT NOT NULL, -- JSON: order of the relays, when to switch between them, routes
  state      TEXT NOT NULL, -- JSON: which relay is active, since when and why
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Relays, including those of flags, that the operator paused.
CREATE TABLE relay_pauses (
  region    TEXT NOT NULL PRIMARY KEY,
  paused_at INTEGER NOT NULL,
  until     INTEGER -- NULL: until it is resumed
) STRICT, WITHOUT ROWID;

-- States of relays as the server last stored them, on change, for commands that run
-- next to it.
CREATE TABLE relay_states (
  region     TEXT NOT NULL PRIMARY KEY,
  state      TEXT NOT NULL, -- JSON
  sealed     BLOB,          -- URL of a relay from flags, for its test; NULL: stored in relays
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Values of the ACME library by its names: certificates with keys, and the account key.
CREATE TABLE certificates (
  name       TEXT NOT NULL PRIMARY KEY,
  sealed     BLOB NOT NULL,
  expires_at INTEGER, -- NULL: not a certificate
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- States of the certificates of hosts as the server last stored them, on change, for
-- commands that run next to it.
CREATE TABLE certificate_states (
  host       TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER, -- NULL: none
  look_at    INTEGER, -- when to warn that it was not renewed
  failures   INTEGER NOT NULL, -- consecutive
  failed_at  INTEGER,
  failure    TEXT
) STRICT, WITHOUT ROWID;

-- Messages per relay and minute, kept for relays with a daily limit.
CREATE TABLE relay_usage (
  relay  TEXT NOT NULL,
  minute INTEGER NOT NULL, -- Unix minutes
  sent   INTEGER NOT NULL,
  bulk   INTEGER NOT NULL, -- of sent, messages of broadcasts
  PRIMARY KEY (relay, minute)
) STRICT, WITHOUT ROWID;

-- Addresses that a team's mail must not be sent to. They are found by keyed hash, as in
-- all tables below. email is what lists show: NULL for an erased suppression, which
-- blocks and is not listed.
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

-- Messages of the capture transport, which sends nothing, for emails and broadcast
-- recipients.
CREATE TABLE captures (
  email_id   TEXT NOT NULL PRIMARY KEY,
  message    BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Responses to sends with an Idempotency-Key; kept 24 h. A sending-only API key has its
-- own scope, so that a leaked key cannot occupy keys of other senders.
CREATE TABLE idempotency (
  team_id    TEXT NOT NULL REFERENCES teams (id),
  scope      TEXT NOT NULL, -- id of a sending-only API key; empty: all other callers of the team
  route      TEXT NOT NULL,
  key        TEXT NOT NULL,
  hash       BLOB NOT NULL, -- SHA-256 of the canonical body
  response   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, scope, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Contacts of a team. Rows are in the order of lists, which filters scan. No foreign
-- key refers to this table, because memberships are deleted by index with their
-- contact.
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
  last_sent_at    INTEGER,    -- when a relay last accepted an email to it, or a broadcast started it; NULL: never; the same for the next two
  last_opened_at  INTEGER,    -- a click counts as an open
  last_clicked_at INTEGER,
  last_replied_at INTEGER,    -- when it last answered an email in person; NULL: never
  PRIMARY KEY (team_id, id),
  UNIQUE (team_id, address)
) STRICT, WITHOUT ROWID;

-- Former addresses of contacts: an unsubscribe link for a former address applies to the
-- contact, and an erasure of the contact includes them.
CREATE TABLE former_addresses (
  team_id    TEXT NOT NULL,
  contact_id TEXT NOT NULL,
  address    BLOB NOT NULL CHECK (length(address) = 16),
  email      TEXT NOT NULL, -- as given
  PRIMARY KEY (team_id, contact_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_addresses_address ON former_addresses (team_id, address);

-- Declared contact properties; contacts may have others.
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

-- Topics, and choices of addresses about them. A choice belongs to an address, which
-- need not be a contact: any recipient can opt out. Choices of a deleted topic are
-- deleted in steps.
CREATE TABLE topics (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  description  TEXT,
  subscription TEXT NOT NULL CHECK (subscription IN ('opt_in', 'opt_out')), -- of addresses without a choice
  visibility   TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  topic_archive TEXT CHECK (topic_archive IN ('public', 'unlisted')), -- NULL: none
  archive_since INTEGER, -- broadcasts that are sent from then on are added
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

-- Addresses that made choices on a hosted page within the last minute. Webhooks got the
-- first event immediately; later choices are sent in one event when the minute ends.
CREATE TABLE choice_news (
  team_id TEXT NOT NULL REFERENCES teams (id),
  address BLOB NOT NULL CHECK (length(address) = 16),
  topics  TEXT, -- JSON: ids of topics whose event is delayed; NULL: none
  next_at INTEGER NOT NULL, -- when the next event may be sent
  PRIMARY KEY (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX choice_news_next ON choice_news (next_at);

-- Segments; members are the contacts added explicitly. Members of a deleted segment are
-- deleted in steps.
CREATE TABLE segments (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  name       TEXT NOT NULL,
  filter     TEXT, -- JSON: {match,conditions}; NULL: explicit members only
  members    INTEGER NOT NULL, -- number of explicit members
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX segments_team ON segments (team_id, id);

CREATE TABLE members (
  segment_id TEXT NOT NULL,
  contact_id TEXT NOT NULL,
  PRIMARY KEY (segment_id, contact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_contact ON members (contact_id);

-- Deleted topics, segments, webhooks and contact properties whose choices, members,
-- deliveries and values must still be deleted.
CREATE TABLE leftovers (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL,
  property   TEXT,         -- its key; NULL: a topic, segment or webhook
  contact_id TEXT NOT NULL -- values are deleted up to this contact
) STRICT, WITHOUT ROWID;

-- Imports of contacts. The file is kept in pieces until it is processed. Row counts and
-- contacts change in one transaction; the number of processed rows is the sum of the
-- counts. A deleted import is removed in steps.
CREATE TABLE imports (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  status       TEXT NOT NULL CHECK (status IN ('uploading', 'queued', 'in_progress', 'completed', 'failed', 'deleted')),
  options      TEXT NOT NULL, -- JSON
  stored       INTEGER NOT NULL CHECK (stored IN (0, 1)), -- there may be pieces of the file, or rows of a deleted import
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

-- Rows that an import rejected. The message contains no data of the row; erasures clean
-- the value.
CREATE TABLE import_errors (
  import_id TEXT NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
  id        TEXT NOT NULL,
  line      INTEGER NOT NULL, -- of the file, from 1
  message   TEXT NOT NULL,
  value     TEXT, -- the rejected value; NULL: the error concerns the whole row
  PRIMARY KEY (import_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_errors_value ON import_errors (id) WHERE value IS NOT NULL; -- for erasures

-- Webhooks of teams. The signing secrets are sealed; after a rotation the old secret
-- signs in addition for a while.
CREATE TABLE webhooks (
  id            TEXT NOT NULL PRIMARY KEY,
  team_id       TEXT NOT NULL REFERENCES teams (id),
  endpoint      TEXT NOT NULL,
  events        TEXT NOT NULL, -- JSON: names of events
  status        TEXT NOT NULL CHECK (status IN ('enabled', 'disabled')),
  secrets       BLOB NOT NULL, -- sealed JSON: [{key,until}], the newest first
  failing_since INTEGER,       -- first failure since the last success; NULL: not failing
  reached       INTEGER NOT NULL, -- webhook_events.seq: subscribed events up to it have a delivery
  created_at    INTEGER NOT NULL,
  webhook_scope TEXT           -- 'server': an operator made it, also for events about the server; NULL: the team's
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_team ON webhooks (team_id, id);

-- Former subscriptions of webhooks with waiting events. An event belongs to the first
-- row with until at or after its seq, else to the current subscription. Rows before
-- webhooks.reached are deleted later.
CREATE TABLE webhook_terms (
  webhook_id TEXT NOT NULL,
  until      INTEGER NOT NULL, -- webhook_events.seq
  events     TEXT NOT NULL,    -- JSON: names of events; empty if it was disabled
  PRIMARY KEY (webhook_id, until)
) STRICT, WITHOUT ROWID;

-- Webhook events with their payload, one row for all webhooks, stored if an enabled
-- webhook of the team subscribes to it; kept 30 days.
CREATE TABLE webhook_events (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL,
  seq        INTEGER NOT NULL, -- numbers the team's events in commit order
  type       TEXT NOT NULL,
  payload    TEXT NOT NULL, -- JSON: {type,created_at,data}
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_events_team ON webhook_events (team_id, id);
CREATE INDEX webhook_events_type ON webhook_events (team_id, type, seq);

-- The last seq of a team's webhook_events, kept after the events are deleted.
CREATE TABLE webhook_event_counts (
  team_id TEXT NOT NULL PRIMARY KEY,
  last    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Deliveries of webhook events, from the first attempt on. Before that, an event waits
-- after webhooks.reached. An attempt and the time of the next one are stored before the
-- first byte is sent. Without foreign keys: rows of deleted webhooks and old events are
-- deleted in steps.
CREATE TABLE deliveries (
  webhook_id   TEXT NOT NULL,
  event_id TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('pending', 'success', 'failed')),
  attempts     INTEGER NOT NULL, -- begun since the event occurred or was last replayed
  next_at      INTEGER,          -- NULL: finished
  PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;

CREATE TABLE webhook_attempts (
  webhook_id   TEXT NOT NULL,
  event_id TEXT NOT NULL,
  id           TEXT NOT NULL,
  team_id      TEXT NOT NULL,
  http_status  INTEGER,       -- NULL: no response
  response     TEXT NOT NULL, -- beginning of the response, or why there was none
  sent_at      INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, event_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_attempts_team ON webhook_attempts (team_id, id);

-- Pending erasures of addresses; sealed.
CREATE TABLE erasures (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  addresses  BLOB NOT NULL, -- sealed JSON: {addresses,until}: folded, and the highest id to examine
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Templates. The edited and the sent version are separate, and a version never changes,
-- so that a send reads the published version without locking.
CREATE TABLE templates (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id),
  name         TEXT NOT NULL,
  alias        TEXT,
  current_id   TEXT NOT NULL, -- the edited version
  published_id TEXT,          -- the sent version; NULL: a draft
  published_at INTEGER,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (team_id, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX templates_team ON templates (team_id, id);

-- Rows are large: this table keeps them out of the B-tree of its key.
CREATE TABLE template_versions (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL,
  template_id TEXT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
  size        INTEGER NOT NULL, -- bytes of html and text
  sender      TEXT,
  reply_to    TEXT,             -- JSON: strings
  subject     TEXT,
  html        TEXT NOT NULL,
  plain       TEXT,             -- NULL: made from html; '': none
  design      TEXT,             -- JSON of the visual editor; NULL: not used
  variables   TEXT,             -- JSON
  template_syntax   TEXT,       -- 'liquid': its html begins with a mark that older programs refuse; NULL: plain
  template_variants TEXT        -- JSON: variants by language; NULL: none
) STRICT;
CREATE INDEX template_versions_template ON template_versions (template_id);

-- HTML that is written once and used by many documents.
CREATE TABLE blocks (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  html       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (team_id, name)
) STRICT;
CREATE INDEX blocks_team ON blocks (team_id, id);

-- The blocks that a version of a template uses.
CREATE TABLE template_blocks (
  version_id TEXT NOT NULL REFERENCES template_versions (id) ON DELETE CASCADE,
  block_id   TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  PRIMARY KEY (version_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX template_blocks_block ON template_blocks (block_id);

-- Former contents of draft broadcasts and templates, kept for a while, so that they can
-- be restored.
CREATE TABLE versions (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  owner_id   TEXT NOT NULL,    -- broadcast or template
  n          INTEGER NOT NULL, -- number within the owner
  actor_type TEXT NOT NULL CHECK (actor_type IN ('cli', 'key', 'person', 'server')), -- who changed it
  actor      TEXT NOT NULL,
  content    TEXT NOT NULL,    -- JSON
  created_at INTEGER NOT NULL, -- time of the change
  UNIQUE (owner_id, n)
) STRICT;
CREATE INDEX versions_team ON versions (team_id, id);
CREATE INDEX versions_age ON versions (created_at);

-- Broadcasts as lists show them, with their progress and counters. Recipients are
-- expanded in chunks, in the order of contact ids, and contact_id moves in the same
-- transaction. Recipients are started in that order too, so that those not started need
-- no units.
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
  mails        TEXT UNIQUE,   -- prefix of the ids of its emails; NULL: not queued
  audience     INTEGER NOT NULL, -- number of recipients, counted on send
  bound        TEXT,          -- newest contact at that time
  contact_id   TEXT,          -- last expanded contact; NULL: none yet
  written      INTEGER NOT NULL, -- number of expanded recipients
  expanded     INTEGER NOT NULL CHECK (expanded IN (0, 1)), -- all recipients are expanded
  begun        INTEGER NOT NULL, -- number of started recipients
  open         INTEGER NOT NULL, -- number of units
  held         TEXT CHECK (held IN ('damaged', 'manual', 'restored')), -- reason; NULL: not held
  held_at      INTEGER,
  paused_at    INTEGER,       -- when its team paused it; NULL: not paused
  sent         INTEGER NOT NULL DEFAULT 0, -- recipients, each once; so are the following
  delivery_delayed INTEGER NOT NULL DEFAULT 0,
  delivered    INTEGER NOT NULL DEFAULT 0,
  opened       INTEGER NOT NULL DEFAULT 0,
  clicked      INTEGER NOT NULL DEFAULT 0,
  bounced      INTEGER NOT NULL DEFAULT 0,
  complained   INTEGER NOT NULL DEFAULT 0,
  suppressed   INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  canceled     INTEGER NOT NULL DEFAULT 0, -- of the started ones
  unsubscribed INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL,
  scheduled_at INTEGER,
  queued_at    INTEGER,       -- when it was frozen and sending could begin
  sent_at      INTEGER,       -- when the last recipient was finished
  canceled_at  INTEGER,
  aged_id      TEXT,          -- last recipient that retention checked; NULL: none yet
  aged         INTEGER NOT NULL DEFAULT 0 CHECK (aged IN (0, 1)), -- retention checked all recipients
  in_archive   INTEGER CHECK (in_archive IN (0, 1)) -- NULL: in the archive if it is sent to the whole topic
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcasts_aging ON broadcasts (team_id, aged, id) WHERE status IN ('sent', 'canceled');
CREATE INDEX broadcasts_team ON broadcasts (team_id, id);
CREATE INDEX broadcasts_mails ON broadcasts (team_id, mails) WHERE mails IS NOT NULL;
CREATE INDEX broadcasts_open ON broadcasts (team_id) WHERE status IN ('scheduled', 'queued');
CREATE INDEX broadcasts_status ON broadcasts (status, id);
CREATE INDEX broadcasts_segment ON broadcasts (segment_id) WHERE segment_id IS NOT NULL AND status IN ('draft', 'scheduled', 'queued');
CREATE INDEX broadcasts_topic ON broadcasts (topic_id) WHERE topic_id IS NOT NULL AND status IN ('draft', 'scheduled', 'queued');

-- Contents of broadcasts, once for all recipients. Rows are large.
CREATE TABLE broadcast_contents (
  broadcast_id TEXT NOT NULL PRIMARY KEY REFERENCES broadcasts (id) ON DELETE CASCADE,
  preview TEXT,
  html    TEXT,
  plain   TEXT, -- NULL: made from html; '': none
  design  TEXT, -- JSON of the visual editor; NULL: not used
  frozen  TEXT, -- JSON: data fixed by the send in addition to the content; NULL: not sent yet
  sum     INTEGER NOT NULL, -- CRC-32C of preview, html and plain, and of the following
  content_syntax   TEXT, -- 'liquid', or NULL: plain
  content_variants TEXT  -- JSON: variants by language; NULL: none
) STRICT;

-- The blocks that a broadcast uses. Once it is queued, broadcast_contents.frozen has them.
CREATE TABLE broadcast_blocks (
  broadcast_id TEXT NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
  block_id     TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  PRIMARY KEY (broadcast_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcast_blocks_block ON broadcast_blocks (block_id);

-- Recipients of broadcasts in sending order. An id is an email id: broadcasts.mails and
-- the recipient's number as eight hexadecimal digits. Contacts are expanded in id order
-- up to a bound, and addresses are unique in a team, so no address appears twice.
CREATE TABLE broadcast_recipients (
  id         TEXT NOT NULL PRIMARY KEY,
  contact_id TEXT NOT NULL,
  email      TEXT NOT NULL,
  fields     TEXT,            -- JSON: the contact's values that the content uses
  seen       INTEGER NOT NULL, -- bits: app.Seen
  recipient_language TEXT     -- of the variant that it gets; NULL: the broadcast itself
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcast_recipients_contact ON broadcast_recipients (substr(id, 1, 28), contact_id); -- finds the recipients of a contact, for segments; in table order

-- Numbers of recipients of a broadcast with variants by language, like those in broadcasts.
CREATE TABLE broadcast_languages (
  broadcast_id TEXT NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
  language     TEXT NOT NULL, -- of a variant; '': the broadcast itself
  recipients   INTEGER NOT NULL DEFAULT 0,
  sent         INTEGER NOT NULL DEFAULT 0,
  delivery_delayed INTEGER NOT NULL DEFAULT 0,
  delivered    INTEGER NOT NULL DEFAULT 0,
  opened       INTEGER NOT NULL DEFAULT 0,
  clicked      INTEGER NOT NULL DEFAULT 0,
  bounced      INTEGER NOT NULL DEFAULT 0,
  complained   INTEGER NOT NULL DEFAULT 0,
  suppressed   INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  canceled     INTEGER NOT NULL DEFAULT 0,
  unsubscribed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (broadcast_id, language)
) STRICT, WITHOUT ROWID;

-- Links of broadcasts and their clicks.
CREATE TABLE broadcast_links (
  broadcast_id TEXT NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
  n      INTEGER NOT NULL,
  id     TEXT NOT NULL,
  url    TEXT NOT NULL, -- as in the content
  clicks INTEGER NOT NULL,
  people INTEGER NOT NULL, -- recipients who clicked it
  PRIMARY KEY (broadcast_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE broadcast_clicks (
  recipient_id TEXT NOT NULL REFERENCES broadcast_recipients (id) ON DELETE CASCADE,
  n            INTEGER NOT NULL, -- of the link
  clicks       INTEGER NOT NULL,
  PRIMARY KEY (recipient_id, n)
) STRICT, WITHOUT ROWID;

-- Progress of retention in a team's emails, in id order. Emails that were too young or
-- not finished are in too_young.
CREATE TABLE aged (
  team_id  TEXT NOT NULL REFERENCES teams (id),
  kind     TEXT NOT NULL CHECK (kind IN ('content', 'email')),
  email_id TEXT NOT NULL, -- last checked email
  PRIMARY KEY (team_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE too_young (
  team_id  TEXT NOT NULL REFERENCES teams (id),
  kind     TEXT NOT NULL CHECK (kind IN ('content', 'email', 'recipient')),
  at       INTEGER NOT NULL, -- time of the last result; if not finished: time of the check
  email_id TEXT NOT NULL,    -- email or broadcast email
  PRIMARY KEY (team_id, kind, at, email_id)
) STRICT, WITHOUT ROWID;

-- Addresses that the unsubscribe links of deleted emails to several recipients apply
-- to: such a link names only its email.
CREATE TABLE former_envelopes (
  email_id TEXT NOT NULL,
  address  BLOB NOT NULL CHECK (length(address) = 16),
  team_id  TEXT NOT NULL REFERENCES teams (id),
  PRIMARY KEY (email_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_envelopes_address ON former_envelopes (team_id, address);

-- Audit log: changes of keys, domains, webhooks, relays, plans, retention, suppressions
-- removed manually, exports, backups and queue actions. Append-only; kept 400 days.
CREATE TABLE audit_logs (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT,          -- NULL: the server
  actor_type TEXT NOT NULL CHECK (actor_type IN ('cli', 'key', 'person', 'server')),
  actor      TEXT NOT NULL, -- id of key or person, name of the system user
  address    TEXT,          -- IP address; NULL: not over the network
  action     TEXT NOT NULL, -- like 'queue.drop'
  target     TEXT,          -- id or name of the changed object; NULL: the server, or several
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
  name       TEXT NOT NULL,        -- '': not given
  password   TEXT,                 -- argon2id hash with parameters and salt; NULL: none, only links and passkeys
  language   TEXT,                 -- of the dashboard; NULL: as the browser
  theme      TEXT CHECK (theme IN ('light', 'dark')), -- NULL: the system's
  operator   INTEGER NOT NULL CHECK (operator IN (0, 1)), -- administers the server and all teams
  only_team  TEXT,                 -- the team whose invitation created the account: it can join no other until its address is proven; NULL: proven
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX users_operator ON users (id) WHERE operator = 1;

-- Memberships of people in teams, with their roles.
CREATE TABLE memberships (
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  role_since INTEGER, -- when the role changed: older sessions have no access to the team; NULL: never
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, team_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_team ON memberships (team_id, user_id);

-- Invitations to teams; the codes of the links are stored as SHA-256. The mailed link
-- proves the address, the one shown to the inviter does not.
CREATE TABLE invitations (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id),
  address    TEXT NOT NULL, -- lower case
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  hash       BLOB NOT NULL UNIQUE, -- of the shown link
  mailed     BLOB UNIQUE,          -- of the mailed link; NULL: not mailed
  vouched    INTEGER NOT NULL CHECK (vouched IN (0, 1)), -- an operator invited: the shown link proves the address too
  invited_by TEXT NOT NULL, -- id of the person or key, name of the system user
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (team_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_team ON invitations (team_id, id);
CREATE INDEX invitations_expires ON invitations (expires_at);
CREATE INDEX invitations_address ON invitations (address, id);

-- When a team last mailed an invitation to an address, including withdrawn invitations;
-- kept for a day.
CREATE TABLE invitation_mails (
  team_id TEXT NOT NULL REFERENCES teams (id),
  hash    BLOB NOT NULL, -- SHA-256 of the address
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_mails_hash ON invitation_mails (hash);
CREATE INDEX invitation_mails_sent ON invitation_mails (sent_at);

-- Sign-in sessions; the cookie's token is stored as SHA-256. A half session waits for
-- the second factor and gives no other access.
CREATE TABLE sessions (
  id         TEXT NOT NULL PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash       BLOB NOT NULL UNIQUE,
  half       INTEGER NOT NULL CHECK (half IN (0, 1)),
  device     TEXT NOT NULL, -- the browser's description of itself
  address    TEXT NOT NULL, -- IP address
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL, -- accurate to five minutes
  proved_at  INTEGER NOT NULL  -- the person's last authentication
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_seen ON sessions (seen_at);
CREATE INDEX sessions_created ON sessions (half, created_at);

-- Browsers in which a person has signed in: wrong guesses from other browsers do not
-- slow them down.
CREATE TABLE devices (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash    BLOB NOT NULL, -- SHA-256 of the device cookie, shared by all people who use the browser
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_user ON devices (user_id, seen_at);
CREATE INDEX devices_hash ON devices (hash);
CREATE INDEX devices_seen ON devices (seen_at);

-- One-time links: the first run's, which creates the first account, and sign-in links.
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
  step         INTEGER NOT NULL, -- the last used step: each works once
  confirmed_at INTEGER,          -- NULL: not confirmed
  wrong        INTEGER NOT NULL DEFAULT 0, -- wrong codes within a day of wrong_since from unknown browsers
  wrong_known  INTEGER NOT NULL DEFAULT 0, -- and from known browsers (devices)
  wrong_since  INTEGER NOT NULL DEFAULT 0  -- time of the first
) STRICT, WITHOUT ROWID;

-- One-time codes that replace a lost second factor.
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
  credential   TEXT NOT NULL, -- JSON of the WebAuthn library, with a public key
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_user ON passkeys (user_id, id);

-- Sign-up forms.
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


-- Issues in the archives of topics.
CREATE TABLE issues (
  id           TEXT NOT NULL PRIMARY KEY,
  team_id      TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  topic_id     TEXT NOT NULL REFERENCES topics (id) ON DELETE CASCADE,
  broadcast_id TEXT NOT NULL, -- that it was made from, which may be deleted
  subject      TEXT NOT NULL,
  preview      TEXT NOT NULL, -- the first words
  language     TEXT,
  html         TEXT NOT NULL, -- rendered for nobody
  sum          INTEGER NOT NULL, -- CRC-32C of html
  sent_at      INTEGER NOT NULL,
  UNIQUE (topic_id, broadcast_id)
) STRICT;
CREATE INDEX issues_topic ON issues (topic_id, sent_at, id);
CREATE INDEX issues_team ON issues (team_id, id);
CREATE INDEX topics_archive ON topics (id) WHERE topic_archive IS NOT NULL;
CREATE INDEX broadcasts_archive ON broadcasts (topic_id, queued_at) WHERE topic_id IS NOT NULL AND queued_at IS NOT NULL;

-- Own hosts of teams for the pages that they publish.
CREATE TABLE pages_hosts (
  name       TEXT NOT NULL PRIMARY KEY, -- lower-case A-labels, below a verified domain of the team
  team_id    TEXT NOT NULL UNIQUE REFERENCES teams (id) ON DELETE CASCADE,
  points_here INTEGER NOT NULL DEFAULT 0 CHECK (points_here IN (0, 1)), -- the last check of its DNS record
  detail     TEXT,    -- what that check found instead, and what to change; NULL: nothing
  checked_at INTEGER, -- NULL: never
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Feeds of which broadcasts are made.
CREATE TABLE feeds (
  id          TEXT NOT NULL PRIMARY KEY,
  team_id     TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  url         TEXT NOT NULL,
  definition  TEXT NOT NULL, -- JSON: topic, template, sender, schedule, zone, mode, skip_empty
  state       TEXT NOT NULL CHECK (state IN ('active', 'held', 'paused')),
  held        TEXT,            -- reason; NULL: not held
  next_at     INTEGER NOT NULL, -- when the next issue is made
  position    TEXT NOT NULL,   -- JSON: what is known of the items so far
  last_error  TEXT,
  last_broadcast_id TEXT,
  checked_at  INTEGER,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX feeds_team ON feeds (team_id, id);
CREATE INDEX feeds_next ON feeds (next_at) WHERE state = 'active';

-- Events that teams declared. Other names can be sent, too.
CREATE TABLE custom_events (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  fields     TEXT,             -- JSON: type by member of the payload; NULL: any payload
  created_at INTEGER NOT NULL,
  updated_at INTEGER,          -- NULL: never
  UNIQUE (team_id, name)
) STRICT;
CREATE INDEX custom_events_team ON custom_events (team_id, id);

-- Automations. Versions of what they do are in automation_versions.
CREATE TABLE automations (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL CHECK (status IN ('enabled', 'disabled')),
  version    INTEGER NOT NULL, -- counts the changes of the flow, from 1
  next_at    INTEGER,          -- when triggers by date or schedule start runs next, or contacts are judged; NULL: other triggers, or disabled
  progress   TEXT,             -- JSON: how far starts by date or schedule have come; NULL: none are under way
  held       TEXT CHECK (held IN ('imported', 'restored')), -- starts by date and schedule are held; NULL: they are not
  deleted_at INTEGER,          -- its runs are removed in steps, then the row; NULL: not deleted
  stopped_at INTEGER,          -- its runs that had started by then are ended in steps; NULL: none are left
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX automations_team ON automations (team_id, id);
CREATE INDEX automations_next ON automations (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX automations_deleted ON automations (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX automations_stopped ON automations (id) WHERE stopped_at IS NOT NULL;

CREATE TABLE automation_versions (
  automation_id TEXT NOT NULL REFERENCES automations (id) ON DELETE CASCADE,
  version       INTEGER NOT NULL,
  flow          TEXT NOT NULL, -- JSON: steps, connections, settings
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (automation_id, version)
) STRICT;

-- The events that start, continue or end runs, by name. An event that no row names is not stored.
CREATE TABLE automation_listeners (
  team_id       TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  automation_id TEXT NOT NULL REFERENCES automations (id) ON DELETE CASCADE,
  version       INTEGER NOT NULL,
  starts        INTEGER NOT NULL CHECK (starts IN (0, 1)), -- 1: starts runs; 0: open runs of the version wait for it
  PRIMARY KEY (team_id, name, automation_id, version, starts)
) STRICT, WITHOUT ROWID;
CREATE INDEX automation_listeners_automation ON automation_listeners (automation_id);

-- Events of contacts. They are taken in the order of ids, and kept for a day, because a run
-- may reach the step that waits for one a little later.
CREATE TABLE automation_signals (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  contact_id TEXT NOT NULL,
  name       TEXT NOT NULL,
  payload    TEXT,             -- JSON: an object; NULL: none
  chain      TEXT,             -- JSON: ids of the automations that led to it; NULL: none
  created_at INTEGER NOT NULL,
  done       INTEGER NOT NULL CHECK (done IN (0, 1, 2)) -- 1: taken; 2: held since a restore
) STRICT;
CREATE INDEX automation_signals_team ON automation_signals (team_id, id);
CREATE INDEX automation_signals_open ON automation_signals (team_id, id) WHERE done = 0;
CREATE INDEX automation_signals_contact ON automation_signals (team_id, contact_id, name, id);
CREATE INDEX automation_signals_held ON automation_signals (team_id, contact_id, id) WHERE done = 2;
CREATE INDEX automation_signals_age ON automation_signals (created_at) WHERE done = 1;

-- Runs: the way of one contact through one version of an automation.
CREATE TABLE automation_runs (
  id            TEXT NOT NULL PRIMARY KEY,
  team_id       TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  automation_id TEXT NOT NULL,
  version       INTEGER NOT NULL,
  contact_id    TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
  held          TEXT CHECK (held IN ('restored')), -- NULL: not held
  step_key      TEXT NOT NULL,    -- at which it is, or at which it ended
  step_n        INTEGER NOT NULL, -- number of that step in automation_run_steps
  due_at        INTEGER,          -- when the step is executed or its wait ends; NULL: never, or not running
  sends         INTEGER NOT NULL CHECK (sends IN (0, 1)), -- 1: the step, or the one after its pause, sends an email
  waits_for     TEXT,             -- name of the event that the step waits for; NULL: none
  since         INTEGER,          -- when that wait began
  context       TEXT NOT NULL,    -- JSON: payloads, chain
  reason        TEXT,             -- why it ended; NULL: it is running, or reached the end
  created_at    INTEGER NOT NULL,
  started_at    INTEGER NOT NULL,
  completed_at  INTEGER           -- NULL: running
) STRICT;
CREATE INDEX automation_runs_team ON automation_runs (team_id, id);
CREATE INDEX automation_runs_list ON automation_runs (automation_id, id);
CREATE INDEX automation_runs_status ON automation_runs (automation_id, status, id);
CREATE INDEX automation_runs_contact ON automation_runs (team_id, contact_id, id);
CREATE INDEX automation_runs_open ON automation_runs (team_id, contact_id, automation_id) WHERE status = 'running';
CREATE INDEX automation_runs_due ON automation_runs (team_id, sends, due_at, id) WHERE due_at IS NOT NULL AND held IS NULL;
CREATE INDEX automation_runs_next ON automation_runs (due_at) WHERE due_at IS NOT NULL AND held IS NULL;
CREATE INDEX automation_runs_held ON automation_runs (team_id, contact_id, id) WHERE held IS NOT NULL;
CREATE INDEX automation_runs_age ON automation_runs (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE automation_run_steps (
  run_id       TEXT NOT NULL REFERENCES automation_runs (id) ON DELETE CASCADE,
  n            INTEGER NOT NULL, -- from 1, in the order in which the run reached the steps
  step_key     TEXT NOT NULL,
  step_type    TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'skipped', 'waiting')),
  output       TEXT,             -- JSON: an object; NULL: none
  error        TEXT,             -- JSON: an object; NULL: none
  started_at   INTEGER NOT NULL,
  completed_at INTEGER,          -- NULL: not yet
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

-- Starts of automations for contacts: for re-entry, and against loops. They stay when runs are deleted.
CREATE TABLE automation_entries (
  automation_id TEXT NOT NULL REFERENCES automations (id) ON DELETE CASCADE,
  contact_id    TEXT NOT NULL,
  entry_key     TEXT NOT NULL,    -- hash of the value of the event's member, for once_per_event_key; empty: all starts
  team_id       TEXT NOT NULL,
  last_at       INTEGER NOT NULL,
  recent        TEXT NOT NULL,    -- JSON: times of the starts of the last 24 hours, in milliseconds
  PRIMARY KEY (automation_id, contact_id, entry_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX automation_entries_contact ON automation_entries (team_id, contact_id);

-- Numbers of automations and their steps.
CREATE TABLE automation_counts (
  automation_id TEXT NOT NULL REFERENCES automations (id) ON DELETE CASCADE,
  step_key      TEXT NOT NULL,    -- empty: of the automation
  kind          TEXT NOT NULL,    -- what is counted: see AutomationCount in the program
  n             INTEGER NOT NULL,
  PRIMARY KEY (automation_id, step_key, kind)
) STRICT, WITHOUT ROWID;

-- Contacts that were in the segments of triggers when they were last judged, so that a join is noticed once.
CREATE TABLE automation_members (
  automation_id TEXT NOT NULL REFERENCES automations (id) ON DELETE CASCADE,
  contact_id    TEXT NOT NULL,
  PRIMARY KEY (automation_id, contact_id)
) STRICT, WITHOUT ROWID;

-- Open runs by team.
CREATE TABLE automation_teams (
  team_id   TEXT NOT NULL PRIMARY KEY REFERENCES teams (id) ON DELETE CASCADE,
  open_runs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
  effects    TEXT,             -- JSON: what routes did with it; NULL: nothing
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
  asked_at     INTEGER NOT NULL, -- when the owner was last asked
  agreed_at    INTEGER,          -- NULL: not yet
  stopped_at   INTEGER,          -- by the owner; NULL: not
  refusals     INTEGER NOT NULL, -- in a row; five pause it
  accepted_at  INTEGER,          -- when a server accepted a mail, since the last refusal; NULL: none
  created_at   INTEGER NOT NULL,
  UNIQUE (team_id, address)
) STRICT;

-- Mail that is or was forwarded or answered, so that neither happens twice.
CREATE TABLE route_effects (
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  effect     BLOB NOT NULL,    -- hash of Message-ID and destination, of route and sender, or of the address that was asked
  route_id   TEXT,             -- of an answer; 'asked': a mail that asked an address to agree; NULL: a forwarded email
  work       TEXT,             -- JSON: what is left to do; NULL: nothing
  created_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, effect)
) STRICT, WITHOUT ROWID;
CREATE INDEX route_effects_age ON route_effects (created_at);
CREATE INDEX route_effects_work ON route_effects (team_id, created_at, effect) WHERE work IS NOT NULL;
CREATE INDEX route_effects_asked ON route_effects (effect, created_at) WHERE route_id = 'asked';
CREATE INDEX route_effects_route ON route_effects (team_id, route_id, created_at) WHERE route_id IS NOT NULL;

-- Reports of receivers of mail about a domain of a team: DMARC aggregate reports and TLS reports. Rows of a domain that
-- is deleted go in chunks after it.
CREATE TABLE mail_reports (
  id         TEXT NOT NULL PRIMARY KEY,
  team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  domain_id  TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('dmarc', 'tls')),
  origin     TEXT NOT NULL CHECK (origin IN ('mail', 'upload')),
  counted    INTEGER NOT NULL CHECK (counted IN (0, 1)), -- 1: it is in the sums
  why        TEXT,             -- why it is not counted; NULL: it is
  reporter   TEXT NOT NULL,    -- organizational domain of its address, or its name
  name       TEXT NOT NULL,    -- of the reporter, as the report has it
  report_id  TEXT NOT NULL,    -- as the report has it, or a hash of its content
  day        TEXT NOT NULL,    -- of begin_at in UTC, YYYY-MM-DD
  begin_at   INTEGER NOT NULL,
  end_at     INTEGER NOT NULL,
  policy     TEXT NOT NULL,    -- DMARC policy that the reporter found; empty: unknown
  messages   INTEGER NOT NULL, -- of TLS: sessions
  passed     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (team_id, domain_id, kind, reporter, report_id, counted)
) STRICT;
CREATE INDEX mail_reports_team ON mail_reports (team_id, id);
CREATE INDEX mail_reports_domain ON mail_reports (team_id, domain_id, id);
CREATE INDEX mail_reports_day ON mail_reports (team_id, domain_id, counted, day);
CREATE INDEX mail_reports_age ON mail_reports (day);

-- Sums of the counted reports by day and reporter.
CREATE TABLE mail_report_days (
  team_id     TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  domain_id   TEXT NOT NULL,
  kind        TEXT NOT NULL,
  day         TEXT NOT NULL,
  reporter    TEXT NOT NULL,
  policy      TEXT NOT NULL,
  messages    INTEGER NOT NULL, -- of TLS: sessions
  passed      INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  rejected    INTEGER NOT NULL,
  uploaded    INTEGER NOT NULL, -- messages that are in uploaded reports
  PRIMARY KEY (team_id, domain_id, kind, day, reporter, policy)
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_report_days_age ON mail_report_days (day);

-- Sums of the counted reports by day and source.
CREATE TABLE mail_report_sources (
  team_id     TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  domain_id   TEXT NOT NULL,
  kind        TEXT NOT NULL,
  day         TEXT NOT NULL,
  source      TEXT NOT NULL,    -- IP address, or other; of TLS: what failed
  policy      TEXT NOT NULL,
  messages    INTEGER NOT NULL,
  passed      INTEGER NOT NULL,
  spf         INTEGER NOT NULL, -- messages that passed SPF for an aligned domain
  dkim        INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  rejected    INTEGER NOT NULL,
  PRIMARY KEY (team_id, domain_id, kind, day, source, policy)
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_report_sources_age ON mail_report_sources (day);

-- When the team was last warned about a domain.
CREATE TABLE mail_report_warnings (
  team_id   TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  domain_id TEXT NOT NULL,
  warning   TEXT NOT NULL,
  warned_at INTEGER NOT NULL,
  PRIMARY KEY (team_id, domain_id, warning)
) STRICT, WITHOUT ROWID;

-- Reverse names of addresses in reports.
CREATE TABLE reverse_names (
  address    TEXT NOT NULL PRIMARY KEY,
  name       TEXT,             -- NULL: none
  checked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reverse_names_age ON reverse_names (checked_at);
