-- Archives of topics, own hosts for pages, and feeds.
-- Archives of topics and the issues in them.
ALTER TABLE topics ADD COLUMN topic_archive TEXT CHECK (topic_archive IN ('public', 'unlisted')); -- NULL: none
ALTER TABLE topics ADD COLUMN archive_since INTEGER; -- broadcasts that are sent from then on are added
ALTER TABLE broadcasts ADD COLUMN in_archive INTEGER CHECK (in_archive IN (0, 1)); -- NULL: in the archive if it is sent to the whole topic
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
