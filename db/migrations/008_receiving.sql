-- Mail that arrives for domains of teams.
ALTER TABLE domains ADD COLUMN receiving INTEGER CHECK (receiving IN (0, 1)); -- 1: the team wants mail for the domain; NULL: not
ALTER TABLE domains ADD COLUMN receives_at INTEGER; -- when a check last found all that receiving needs; NULL: never
ALTER TABLE domains ADD COLUMN receives INTEGER CHECK (receives IN (0, 1)); -- 1: the last check found it; NULL: not
ALTER TABLE domains ADD COLUMN report_sources TEXT; -- JSON: addresses that the team named as sending for it or not; NULL: none
ALTER TABLE emails ADD COLUMN forward_id TEXT; -- destination to which it forwards a received email; NULL: another email
ALTER TABLE contacts ADD COLUMN last_replied_at INTEGER; -- when it last answered an email in person; NULL: never
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
