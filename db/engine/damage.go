package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrDamaged: what was asked for can't be read, since the file is damaged there. It
// comes with a Damage, and all else goes on.
var ErrDamaged = errors.New("db: damaged")

// ErrChecksum: what stands in the file is not what was written.
var ErrChecksum = errors.New("the checksum does not match")

// Damage says what can't be read.
type Damage struct {
	Table   string // "a, b" where it may be either
	TeamID  string // empty: not known
	ID      string // of the email or broadcast; empty: not known
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

// ContentTables hold what belongs to single emails, contacts and the like: what is
// DamagedRow there is a fault of these. All others, and the schema, belong to the system.
var ContentTables = []string{
	"attachment_pieces", "attachments", "broadcast_clicks", "broadcast_contents", "broadcast_links", "broadcast_recipients", "captures", "choices", "contacts", "contents", "doubts",
	"emails", "events", "feedback", "webhook_events", "idempotency", "import_errors", "import_pieces", "members", "provider_ids", "raw_pieces", "recipients", "suppressions",
	"template_versions", "versions", "webhook_attempts",
}

var (
	onlyReads  = regexp.MustCompile(`^\s*(SELECT|WITH)\b`)
	tablesRead = regexp.MustCompile(`\b(?:FROM|JOIN) ([a-z_]+)`)
)

// ReadFault tells a fault of the file that a query met where content stands: it is no
// reason to stop. Other errors pass, also those of statements that change something.
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

// DamagedRow has an error in reading a row of a table that is there be a Damage: also one
// that does not decode, or is missing beside its parent.
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
		err = errors.New("the row is missing") // and not an email that is not there
	}
	return &Damage{Table: table, Cause: err}
}

// DamagedEmail notes whose damage it is.
func DamagedEmail(err error, teamID, id string) error { return setDamageOwner(err, teamID, id, true) }

// DamagedBroadcast notes whose damage it is.
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

// maxLoggedDamages bounds the memory of what was logged.
const maxLoggedDamages = 10_000

// damages are those that the log has named.
type damages struct {
	mu     sync.Mutex
	logged map[Damage]bool
}

// logDamage logs what is damaged, once in a life.
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
