-- Documents in Liquid, documents in several languages, and their saved blocks.
ALTER TABLE template_versions ADD COLUMN template_syntax TEXT; -- 'liquid': its html begins with a mark that older programs refuse; NULL: plain
ALTER TABLE template_versions ADD COLUMN template_variants TEXT; -- JSON: variants by language; NULL: none
ALTER TABLE broadcast_contents ADD COLUMN content_syntax TEXT; -- 'liquid', or NULL: plain
ALTER TABLE broadcast_contents ADD COLUMN content_variants TEXT; -- JSON: variants by language; NULL: none
ALTER TABLE broadcast_recipients ADD COLUMN recipient_language TEXT; -- of the variant that it gets; NULL: the broadcast itself

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

-- The blocks that a broadcast uses. Once it is queued, broadcast_contents.frozen has them.
CREATE TABLE broadcast_blocks (
  broadcast_id TEXT NOT NULL REFERENCES broadcasts (id) ON DELETE CASCADE,
  block_id     TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  PRIMARY KEY (broadcast_id, block_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX broadcast_blocks_block ON broadcast_blocks (block_id);
