-- Automations and custom events.
ALTER TABLE teams ADD COLUMN time_zone TEXT; -- IANA name, of contacts without one; NULL: UTC
ALTER TABLE emails ADD COLUMN automation_run TEXT; -- run of an automation that sent it; NULL: none
ALTER TABLE emails ADD COLUMN automation_step TEXT; -- key of the step
ALTER TABLE units ADD COLUMN automated INTEGER CHECK (automated IN (0, 1)); -- of an automation: 1 needs the consent of its recipient, 0 does not; NULL: other mail
CREATE INDEX units_automated ON units (team_id) WHERE automated IS NOT NULL;

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
