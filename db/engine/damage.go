package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrDamaged means that requested rows cannot be read because the file is damaged there. It comes
// with a Damage. The rest of the store keeps working.
var ErrDamaged = errors.New("db: damaged")

// ErrChecksum means that stored content differs from what was written.
var ErrChecksum = errors.New("the checksum does not match")

// Damage describes rows that cannot be read.
type Damage struct {
	Table   string // "a, b" if it may be either
	TeamID  string // empty: unknown
	ID      string // of the email or broadcast; empty: unknown
	isEmail bool
	Cause   error
}

// Error implements error.
func (d *Damage) Error() string {
	if d.ID == "" {
		return fmt.Sprintf("damaged rows of %s: %v", d.Table, d.Cause)
	}
	return fmt.Sprintf("damaged rows of %s, of %s: %v", d.Table, d.ID, d.Cause)
}

// Unwrap returns ErrDamaged and the cause.
func (d *Damage) Unwrap() []error { return []error{ErrDamaged, d.Cause} }

// ContentTables are the tables that hold rows of single emails, contacts and the like. Damage in
// them affects only these objects. All other tables, and the schema, are needed by the whole
// system.
var ContentTables = []string{
	"attachment_pieces", "attachments", "broadcast_clicks", "broadcast_contents", "broadcast_links", "broadcast_recipients", "captures", "choices", "contacts", "contents", "doubts",
	"emails", "events", "feedback", "webhook_events", "idempotency", "import_errors", "import_pieces", "members", "provider_ids", "raw_pieces", "recipients", "suppressions",
	"template_versions", "versions", "webhook_attempts",
}

var (
	onlyReads  = regexp.MustCompile(`^\s*(SELECT|WITH)\b`)
	tablesRead = regexp.MustCompile(`\b(?:FROM|JOIN) ([a-z_]+)`)
)

// ReadFault returns a Damage if err is a read error of a query on ContentTables, which is no
// reason to stop the server. It returns any other error as it is, including errors of statements
// that write.
func ReadFault(query string, err error) error {
	if !IsUnreadable(err) {
		return err
	}
	if !onlyReads.MatchString(query) {
		return err
	}
	var tables []string
	for _, m := range tablesRead.FindAllStringSubmatch(query, -1) {
		if slices.Contains(ContentTables, m[1]) && !slices.Contains(tables, m[1]) {
			tables = append(tables, m[1])
		}
	}
	if len(tables) == 0 {
		return err
	}
	return &Damage{Table: strings.Join(tables, ", "), Cause: err}
}

// DamagedRow turns the error of reading a row that must exist into a Damage, also if the row
// cannot be decoded or is missing although its parent exists.
func DamagedRow(table string, err error) error {
	var d *Damage
	switch {
	case err == nil, isStorage(err) && !errors.As(err, &d):
		return err
	case d != nil && !strings.Contains(d.Table, ", "):
		table, err = d.Table, d.Cause
	case d != nil:
		err = d.Cause
	case errors.Is(err, ErrNotFound):
		err = errors.New("the row is missing") // ErrNotFound would mean that the email does not exist
	}
	return &Damage{Table: table, Cause: err}
}

// DamagedEmail adds the email and its team to the Damage in err, if it names no object yet.
func DamagedEmail(err error, teamID, id string) error { return setDamageOwner(err, teamID, id, true) }

// DamagedBroadcast adds the broadcast and its team to the Damage in err, if it names no object
// yet.
func DamagedBroadcast(err error, teamID, id string) error {
	return setDamageOwner(err, teamID, id, false)
}

func setDamageOwner(err error, teamID, id string, isEmail bool) error {
	var d *Damage
	if errors.As(err, &d) && d.ID == "" {
		d.TeamID, d.ID, d.isEmail = teamID, id, isEmail
	}
	return err
}

// maxLoggedDamages bounds the number of remembered log entries.
const maxLoggedDamages = 10_000

// damages remembers which damage was logged.
type damages struct {
	mu     sync.Mutex
	logged map[Damage]bool
}

// logDamage logs damage, each one once per process.
func (d *DB) logDamage(err error) {
	var found *Damage
	if !errors.As(err, &found) {
		return
	}
	key := *found
	key.Cause = nil
	d.damages.mu.Lock()
	defer d.damages.mu.Unlock()
	if d.damages.logged[key] || len(d.damages.logged) >= maxLoggedDamages {
		return
	}
	if d.damages.logged == nil {
		d.damages.logged = map[Damage]bool{}
	}
	d.damages.logged[key] = true
	what := "broadcast"
	if key.isEmail {
		what = "email"
	}
	args := []any{"table", key.Table}
	if key.ID != "" {
		args = append(args, what, key.ID, "team", key.TeamID)
	}
	d.log.Error("damaged content: the database file is not what was written there", append(args, "err", found.Cause, "help", "mailer check names all that is damaged")...)
}
