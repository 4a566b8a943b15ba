-- Images for mail.
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
CREATE TABLE image_pieces (
  image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
  size     INTEGER NOT NULL, -- number in images.sizes, from 0
  n        INTEGER NOT NULL,
  sum      INTEGER NOT NULL, -- CRC-32C of content
  content  BLOB NOT NULL,
  PRIMARY KEY (image_id, size, n)
) STRICT;
CREATE INDEX domains_name ON domains (name);
ALTER TABLE teams ADD COLUMN image_bytes INTEGER NOT NULL DEFAULT 0; -- of its images, and a fixed number for each
