package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db/engine"
)

// condition is an SQL condition on contacts AS c with its arguments. The text is built
// only from constants of this package.
type condition struct {
	text string
	args []any
}

// filterPlaceholder marks the position of a filter's condition in a statement. Unreplaced
// it matches every contact, so that the statement can be prepared.
const filterPlaceholder = `(TRUE /* filter */)`

// where returns a filter as SQL. The result may be NULL for a contact that does not match.
// The filter was validated; unknown fields and operators are errors.
func where(f *app.Filter, dialect filterDialect) (condition, error) {
	now := clock.Now() // the same for all conditions
	if len(f.Conditions) == 0 {
		return condition{text: filterPlaceholder}, nil
	}
	glue := ` AND `
	if f.Match == app.MatchAny {
		glue = ` OR `
	}
	var texts []string
	var args []any
	for _, c := range inOrder(f) {
		c, err := conditionOf(&c, dialect, now)
		if err != nil {
			return condition{}, err
		}
		texts, args = append(texts, `(`+c.text+`)`), append(args, c.args...)
	}
	return condition{`(` + strings.Join(texts, glue) + `)`, args}, nil
}

// inOrder sorts conditions so that the most decisive and cheapest come first: fields, then
// properties, which are slow to look up, then conditions on other tables. Among
// properties, the conditions that most contacts meet come first if any one is enough, and
// the ones that few meet if all are needed.
func inOrder(f *app.Filter) []app.Condition {
	rank := func(c app.Condition) int {
		usual := c.Op == app.OpNotEquals || c.Op == app.OpIsSet
		switch {
		case c.Names() != "":
			return 3
		case !strings.HasPrefix(c.Field, app.PropertyPrefix):
			return 0
		case usual == (f.Match == app.MatchAny):
			return 1
		}
		return 2
	}
	out := slices.Clone(f.Conditions)
	slices.SortStableFunc(out, func(a, b app.Condition) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func conditionOf(c *app.Condition, dialect filterDialect, now time.Time) (condition, error) {
	switch c.Field {
	case "email":
		return textCondition(condition{text: `c.email`}, c, dialect)
	case "first_name":
		return textCondition(condition{text: `c.first_name`}, c, dialect)
	case "last_name":
		return textCondition(condition{text: `c.last_name`}, c, dialect)
	case "unsubscribed":
		return flagCondition(c)
	case "created_at":
		return timeCondition(c)
	case app.FieldReceived, app.FieldOpened, app.FieldClicked, app.FieldReplied:
		return activityCondition(c, now)
	case app.FieldTopic:
		return topicCondition(c)
	}
	if key, ok := strings.CutPrefix(c.Field, app.PropertyPrefix); ok {
		return propertyCondition(key, c, dialect)
	}
	return condition{}, fmt.Errorf("filter by the unknown field %q", c.Field)
}

func unknownOp(c *app.Condition) error {
	return fmt.Errorf("filter with the unknown operator %q on %s", c.Op, c.Field)
}

// textCondition compares a text column, which may be NULL. It does not use LIKE, which has
// patterns and ignores case.
func textCondition(column condition, c *app.Condition, dialect filterDialect) (condition, error) {
	x, length := column.text, utf8.RuneCountInString(c.Value)
	with := func(text string, args ...any) (condition, error) {
		return condition{text, append(slices.Clone(column.args), args...)}, nil
	}
	switch c.Op {
	case app.OpEquals:
		return with(x+` = ?`, c.Value)
	case app.OpNotEquals:
		return with(x+` IS DISTINCT FROM ?`, c.Value)
	case app.OpContains:
		return with(`instr(`+x+`, ?) > 0`, c.Value)
	case app.OpStartsWith:
		return with(`substr(`+x+`, 1, ?) = ?`, length, c.Value)
	case app.OpEndsWith:
		return with(dialect.end(x)+` = ?`, length, c.Value)
	case app.OpIsSet:
		return with(x + ` IS NOT NULL`)
	case app.OpIsNotSet:
		return with(x + ` IS NULL`)
	}
	return condition{}, unknownOp(c)
}

func flagCondition(c *app.Condition) (condition, error) {
	switch c.Op {
	case app.OpIsTrue:
		return condition{text: `c.unsubscribed = 1`}, nil
	case app.OpIsFalse:
		return condition{text: `c.unsubscribed = 0`}, nil
	}
	return condition{}, unknownOp(c)
}

func timeCondition(c *app.Condition) (condition, error) {
	t, err := c.TimeValue()
	if err != nil {
		return condition{}, fmt.Errorf("filter by time: %w", err)
	}
	switch c.Op {
	case app.OpBefore:
		if t.Nanosecond()%1e6 != 0 {
			return condition{`c.created_at <= ?`, []any{milli(t)}}, nil // milli drops fractions of a millisecond
		}
		return condition{`c.created_at < ?`, []any{milli(t)}}, nil
	case app.OpAfter:
		return condition{`c.created_at > ?`, []any{milli(t)}}, nil
	}
	return condition{}, unknownOp(c)
}

// propertyCondition compares a property. Looking up a property is most of the cost of a
// scan, so the usual conditions do it once.
func propertyCondition(key string, c *app.Condition, dialect filterDialect) (condition, error) {
	n, isNumber := c.NumberValue()
	switch c.Op {
	case app.OpGreaterThan:
		return dialect.between(key, math.Nextafter(n, math.Inf(1)), math.Inf(1)), nil
	case app.OpLessThan:
		return dialect.between(key, math.Inf(-1), math.Nextafter(n, math.Inf(-1))), nil
	case app.OpEquals, app.OpNotEquals:
		if isNumber {
			return equalsNumber(key, c, app.PropertyValue{Type: app.NumberProperty, Number: n}.String(), dialect), nil
		}
	case app.OpContains, app.OpStartsWith, app.OpEndsWith:
		return textCondition(dialect.propertyText(key, c.Value), c, dialect)
	}
	return textCondition(condition{`(c.properties ->> ?)`, []any{key}}, c, dialect)
}

// equalsNumber compares a property with a text that is written as a number: as text, and
// as a number in stored form.
func equalsNumber(key string, c *app.Condition, text string, dialect filterDialect) condition {
	args := []any{key, c.Value, key, text}
	if c.Op == app.OpNotEquals {
		return condition{`c.properties ->> ? IS DISTINCT FROM ? AND ` + dialect.literal() + ` IS DISTINCT FROM ?`, args}
	}
	return condition{`c.properties ->> ? = ? OR ` + dialect.literal() + ` = ?`, args}
}

// filtered is a prepared statement with a filter. Each filter makes a new statement, so
// they are not cached.
type filtered struct {
	query string
	stmt  *engine.Statement
	args  []any // of the filter
}

// filtered prepares a statement with a filterPlaceholder. The caller closes it.
func (r *Reader) filtered(query string, filter condition) (*filtered, error) {
	stmt, err := r.Prepare(strings.Replace(query, filterPlaceholder, filter.text, 1))
	if err != nil {
		return nil, fmt.Errorf("prepare filter: %w", err)
	}
	return &filtered{query, stmt, filter.args}, nil
}

func (q *filtered) close() { q.stmt.Close() }

// with returns all arguments: those before the filter, of the filter, and after the
// filter.
func (q *filtered) with(before []any, after ...any) []any {
	return slices.Concat(before, q.args, after)
}

func (q *filtered) count(ctx context.Context, args ...any) (n int, err error) {
	err = q.stmt.Row(ctx, q.with(args), &n)
	return n, engine.ReadFault(q.query, err)
}

// ErrLong is returned by a scan that would exceed its Effort.
var ErrLong = errors.New("db: scan exceeds its limit")

// Effort bounds a scan. It returns ErrLong instead of examining more than about MaxRows
// rows; 0 means no limit. With Until it scans until that time, at least one range.
type Effort struct {
	MaxRows int
	Until   time.Time
	// From and To bound the ids that are counted: after From, up to To. Empty means no bound.
	From, To string
}

// scanRange is the number of rows between two checks of the limits. A range fits into the
// page cache of a connection, so finding its end does not read pages twice.
const scanRange = 4096

// ranges visits the ids from one end to the other in ranges. end returns the last id of
// the range after from, or ErrNotFound if fewer rows are left. visit scans a range and
// reports whether to continue. An unbounded scan is one range, because finding range ends
// costs a tenth or more of a scan, and the context cancels a running statement.
func (e Effort) ranges(ctx context.Context, from, last string, end func(from string) (string, error), visit func(from, to string) (more bool, err error)) error {
	if e.MaxRows == 0 && e.Until.IsZero() {
		_, err := visit(from, last)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	for examined := scanRange; ; examined += scanRange {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.isSpent(examined) {
			return ErrLong
		}
		to, err := end(from)
		ended := errors.Is(err, ErrNotFound)
		if ended {
			to = last
		} else if err != nil {
			return err
		}
		if more, err := visit(from, to); err != nil || ended || !more {
			return err
		}
		from = to
	}
}

// isSpent reports whether a scan that examined so many rows must stop.
func (e Effort) isSpent(examined int) bool {
	expired := !e.Until.IsZero() && examined > scanRange && time.Now().After(e.Until)
	return expired || e.MaxRows > 0 && examined > e.MaxRows
}

func (r *Reader) rangeUp(teamID string) func(from string) (string, error) {
	return func(from string) (to string, err error) {
		err = r.Row(`SELECT id FROM contacts WHERE team_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?`, []any{teamID, from, scanRange - 1}, &to)
		return to, err
	}
}

func (r *Reader) rangeDown(teamID string) func(from string) (string, error) {
	return func(from string) (to string, err error) {
		err = r.Row(`SELECT id FROM contacts WHERE team_id = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?`, []any{teamID, from, scanRange - 1}, &to)
		return to, err
	}
}

func (r *Reader) membersUp(segmentID string) func(from string) (string, error) {
	return func(from string) (to string, err error) {
		err = r.Row(`SELECT contact_id FROM members WHERE segment_id = ? AND contact_id > ? ORDER BY contact_id LIMIT 1 OFFSET ?`,
			[]any{segmentID, from, scanRange - 1}, &to)
		return to, err
	}
}

// countPicked returns the number of a team's contacts that match a filter.
func (r *Reader) countPicked(ctx context.Context, e Effort, teamID string, filter condition) (total int, err error) {
	q, err := r.filtered(`SELECT count(*) FROM contacts AS c WHERE c.team_id = ? AND c.id > ? AND c.id <= ? AND `+filterPlaceholder, filter)
	if err != nil {
		return 0, err
	}
	defer q.close()
	err = e.ranges(ctx, e.From, cmp.Or(e.To, lastID), r.rangeUp(teamID), func(from, to string) (bool, error) {
		n, err := q.count(ctx, teamID, from, to)
		total += n
		return true, err
	})
	return total, err
}

// countUnpicked returns the number of a segment's explicit members that do not match a
// filter.
func (r *Reader) countUnpicked(ctx context.Context, e Effort, s *app.Segment, filter condition) (total int, err error) {
	q, err := r.filtered(`SELECT count(*) FROM members AS m CROSS JOIN contacts AS c
		ON c.team_id = ? AND c.id = m.contact_id AND m.segment_id = ? AND m.contact_id > ? AND m.contact_id <= ? AND `+filterPlaceholder+` IS NOT TRUE`, filter)
	if err != nil {
		return 0, err
	}
	defer q.close()
	err = e.ranges(ctx, e.From, cmp.Or(e.To, lastID), r.membersUp(s.ID), func(from, to string) (bool, error) {
		n, err := q.count(ctx, s.TeamID, s.ID, from, to)
		total += n
		return true, err
	})
	return total, err
}

// pickedContacts returns the first limit contacts that match a filter, after page's cursor
// and in page order.
func (r *Reader) pickedContacts(ctx context.Context, e Effort, teamID string, filter condition, page app.Page, limit int) ([]app.Contact, error) {
	if page.Before != "" {
		return r.pickedUp(ctx, e, teamID, filter, page.Before, limit)
	}
	out, _, err := r.pickedDown(ctx, e, teamID, filter, cmp.Or(page.After, lastID), firstID, limit)
	return out, err
}

// pickedDown is pickedContacts from newer to older ids: below from, down to last
// inclusive. It also returns the last id examined.
func (r *Reader) pickedDown(ctx context.Context, e Effort, teamID string, filter condition, from, last string, limit int) ([]app.Contact, string, error) {
	q, err := r.filtered(`SELECT `+contactColumns+` FROM contacts AS c
		WHERE c.team_id = ? AND c.id < ? AND c.id >= ? AND `+filterPlaceholder+` ORDER BY c.id DESC LIMIT ?`, filter)
	if err != nil {
		return nil, "", err
	}
	defer q.close()
	return q.contacts(ctx, e, teamID, from, last, r.rangeDown(teamID), limit)
}

// pickedUp is pickedContacts from older to newer ids.
func (r *Reader) pickedUp(ctx context.Context, e Effort, teamID string, filter condition, from string, limit int) ([]app.Contact, error) {
	q, err := r.filtered(`SELECT `+contactColumns+` FROM contacts AS c
		WHERE c.team_id = ? AND c.id > ? AND c.id <= ? AND `+filterPlaceholder+` ORDER BY c.id LIMIT ?`, filter)
	if err != nil {
		return nil, err
	}
	defer q.close()
	out, _, err := q.contacts(ctx, e, teamID, from, lastID, r.rangeUp(teamID), limit)
	return out, err
}

// contacts returns at most limit contacts of a scan and the last id examined.
func (q *filtered) contacts(ctx context.Context, e Effort, teamID, from, last string, end func(string) (string, error), limit int) (out []app.Contact, examined string, err error) {
	scan := contactScanner(ctx)
	err = e.ranges(ctx, from, last, end, func(from, to string) (bool, error) {
		rows, err := engine.Collect(ctx, q.stmt, scan, q.with([]any{teamID, from, to}, limit-len(out))...)
		out, examined = append(out, rows...), to
		return len(out) < limit, engine.ReadFault(q.query, err)
	})
	return out, examined, err
}
