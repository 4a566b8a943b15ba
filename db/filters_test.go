package db

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/filter"
)

// fieldOps returns all pairs of field and operator that Validate accepts, by kind of
// field.
func fieldOps() map[string][]string {
	text := []string{app.OpEquals, app.OpNotEquals, app.OpContains, app.OpStartsWith, app.OpEndsWith, app.OpIsSet, app.OpIsNotSet}
	return map[string][]string{
		"email": text, "first_name": text, "last_name": text,
		"unsubscribed": {app.OpIsTrue, app.OpIsFalse},
		"created_at":   {app.OpBefore, app.OpAfter},
		"property:a":   append(slices.Clone(text), app.OpGreaterThan, app.OpLessThan),
		"property:0":   append(slices.Clone(text), app.OpGreaterThan, app.OpLessThan),
		"received":     behaviourOps, "opened": behaviourOps, "clicked": behaviourOps, "replied": behaviourOps,
		"topic": {app.OpSubscribed, app.OpNotSubscribed},
	}
}

var behaviourOps = []string{app.OpIsTrue, app.OpIsFalse, app.OpWithinDays, app.OpNotWithinDays, app.OpInBroadcast, app.OpNotInBroadcast}

// textValues are texts with special characters.
var textValues = []string{"Ann", "ann", "ANN", "Ann%", "%", "_", "'", `"`, `\`, `a\nb`, "é", "É", "e\u0301", "日本", "😀", "O'Brien", "a b", "?", "?1",
	"5", "5.0", "05", "-5", "1e3", "1e+21", "true", "null", "$.a", "[0]", "{}", "NaN", "Infinity", "x", strings.Repeat("y", 1000)}

var numberValues = []float64{0, math.Copysign(0, -1), 5, -5, 5.5, 0.1, 0.1 + 0.2, 1e3, 1e20, 1e21, 1e-6, 1e-7, 1.5e300, -1.5e300, 5e-324, math.MaxFloat64,
	1 << 53, 1<<53 + 2, 1.2345678901234567e18, math.Nextafter(1.2345678901234567e18, 0), 1 << 63, math.Nextafter(1<<63, 0), -1 << 63, math.Nextafter(-1<<63, 0)}

func pick[T any](r *rand.Rand, pool []T) T { return pool[r.IntN(len(pool))] }

func randomNumber(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return pick(r, numberValues)
	}
	if n := math.Float64frombits(r.Uint64()); n-n == 0 {
		return n
	}
	return r.Float64()
}

func randomProperty(r *rand.Rand) app.PropertyValue {
	if r.IntN(2) == 0 {
		return app.PropertyValue{Type: app.StringProperty, Text: pick(r, append(slices.Clone(textValues), ""))}
	}
	return app.PropertyValue{Type: app.NumberProperty, Number: randomNumber(r)}
}

var filterEpoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func randomContact(r *rand.Rand, teamID string, n int) app.Contact {
	email := fmt.Sprintf("%s%d@%s", pick(r, []string{"a", "A", "a%b", "o'b", "é"}), n, pick(r, []string{"example.org", "Example.ORG", "mail_x.test"}))
	c := app.Contact{ID: app.NewID(), TeamID: teamID, Hash: hashOf(email), Email: email, Unsubscribed: r.IntN(2) == 0,
		CreatedAt: filterEpoch.Add(time.Duration(r.IntN(5)) * time.Millisecond), UpdatedAt: filterEpoch}
	if r.IntN(3) > 0 {
		c.FirstName = pick(r, textValues)
	}
	if r.IntN(3) > 0 {
		c.LastName = pick(r, textValues)
	}
	c.Activity = randomActivity(r)
	for _, key := range []string{"a", "0", "other"} {
		if r.IntN(3) > 0 {
			if c.Properties == nil {
				c.Properties = app.Properties{}
			}
			c.Properties[key] = randomProperty(r)
		}
	}
	return c
}

// randomValue returns a value for a condition, mostly an existing value or a part of one.
func randomValue(r *rand.Rand, op string, contacts []app.Contact) string {
	switch op {
	case app.OpWithinDays, app.OpNotWithinDays:
		return strconv.Itoa(1 + r.IntN(5))
	case app.OpInBroadcast, app.OpNotInBroadcast:
		return pick(r, testBroadcasts)
	case app.OpSubscribed, app.OpNotSubscribed:
		return pick(r, testTopics)
	case app.OpBefore, app.OpAfter:
		return filterEpoch.Add(time.Duration(r.IntN(12)-1) * 500 * time.Microsecond).Format(time.RFC3339Nano)
	case app.OpGreaterThan, app.OpLessThan:
		return strconv.FormatFloat(randomNumber(r), pick(r, []byte("feg")), -1, 64)
	}
	if r.IntN(4) == 0 {
		return pick(r, []string{"5", "5.0", "+5", "5e0", "-", "e", "e+", "1e", ".", "0.", "-0", "1e21", "1000000000000000000000", "0.0000001", "1e-7", "inf", "e+20"})
	}
	c := pick(r, contacts)
	whole := pick(r, []string{c.Email, c.FirstName, c.LastName, c.Properties["a"].String(), c.Properties["0"].String(), pick(r, textValues)})
	if op == app.OpEquals || op == app.OpNotEquals || r.IntN(4) == 0 {
		return whole
	}
	runes := []rune(whole)
	from := r.IntN(len(runes) + 1)
	return string(runes[from : from+r.IntN(len(runes)-from+1)])
}

func randomFilter(r *rand.Rand, contacts []app.Contact) *app.Filter {
	f := &app.Filter{Match: pick(r, []app.Match{app.MatchAll, app.MatchAny})}
	ops := fieldOps()
	fields := []string{"email", "first_name", "last_name", "unsubscribed", "created_at", "property:a", "property:0", "received", "opened", "clicked", "replied", "topic"}
	for range 1 + r.IntN(3) {
		field := pick(r, fields)
		op := pick(r, ops[field])
		f.Conditions = append(f.Conditions, app.Condition{Field: field, Op: op, Value: randomValue(r, op, contacts)})
	}
	return f
}

// audience is a team with contacts as read back, oldest first.
type audience struct {
	*testing.T
	db       *DB
	team     app.Team
	contacts []app.Contact
}

func newAudience(t *testing.T, n int, make func(teamID string, i int) app.Contact) *audience {
	t.Helper()
	d, team := suppressionStore(t, 0)
	a := &audience{T: t, db: d, team: team}
	a.write(func(tx *Tx) error {
		for i := range n {
			c := make(team.ID, i)
			if err := tx.InsertContact(&c); err != nil {
				return err
			}
		}
		return tx.CountContacts(team.ID, n)
	})
	a.read(func(r *Reader) (err error) {
		a.contacts, err = list(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? ORDER BY c.id`, team.ID)
		return err
	})
	if len(a.contacts) != n {
		t.Fatalf("%d contacts, want %d", len(a.contacts), n)
	}
	a.write(func(tx *Tx) error {
		return a.addBehaviour(func(text string, args ...any) error { return tx.Write(text, args...) })
	})
	return a
}

func (a *audience) write(fn func(tx *Tx) error) {
	a.Helper()
	if err := a.db.Write(a.Context(), fn); err != nil {
		a.Fatal(err)
	}
}

func (a *audience) read(fn func(r *Reader) error) {
	a.Helper()
	if err := a.db.Read(a.Context(), fn); err != nil {
		a.Fatal(err)
	}
}

// segment adds a segment with explicit members.
func (a *audience) segment(f *app.Filter, byHand ...string) *app.Segment {
	a.Helper()
	s := &app.Segment{ID: app.NewID(), TeamID: a.team.ID, Name: "s", Filter: f, Members: len(byHand)}
	a.write(func(tx *Tx) error {
		if err := tx.InsertSegment(s); err != nil {
			return err
		}
		for _, id := range byHand {
			if added, err := tx.AddMember(s.ID, id); err != nil || !added {
				return fmt.Errorf("add member: %v %w", added, err)
			}
		}
		return tx.CountMembers(s.ID, len(byHand))
	})
	return s
}

// contents returns the ids of the contacts in a segment, newest first.
func (a *audience) contents(s *app.Segment, byHand ...string) (ids []string) {
	for _, c := range slices.Backward(a.contacts) {
		if filter.Matches(s.Filter, &c, testFacts(&c)) || slices.Contains(byHand, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (a *audience) page(s *app.Segment, page app.Page) (ids []string, more bool) {
	a.Helper()
	a.read(func(r *Reader) error {
		rows, m, err := r.ListSegmentContacts(a.Context(), Effort{}, s, page)
		for _, c := range rows {
			ids = append(ids, c.ID)
		}
		more = m
		return err
	})
	return ids, more
}

// walk reads a segment page by page, from an end or from a cursor.
func (a *audience) walk(s *app.Segment, page app.Page) (ids []string) {
	a.Helper()
	for {
		rows, more := a.page(s, page)
		if page.Before != "" {
			ids = append(rows, ids...)
		} else {
			ids = append(ids, rows...)
		}
		if !more {
			return ids
		}
		if len(rows) != page.Limit {
			a.Fatalf("%d rows and more on a page of %d", len(rows), page.Limit)
		}
		page = app.Page{Limit: page.Limit, After: rows[len(rows)-1]}
		if page.Limit%2 == 0 {
			page = app.Page{Limit: page.Limit, Before: rows[0]}
		}
	}
}

// check compares counts and pages of a segment with contents.
func (a *audience) check(s *app.Segment, limit int, byHand ...string) {
	a.Helper()
	want := a.contents(s, byHand...)
	a.read(func(r *Reader) error {
		n, err := r.CountSegment(a.Context(), Effort{}, s)
		if n != len(want) {
			a.Errorf("%d counted, want %d: %+v", n, len(want), s.Filter)
		}
		return err
	})
	down := app.Page{Limit: limit | 1} // odd: downwards
	if got := a.walk(s, down); !slices.Equal(got, want) {
		a.Errorf("walk down by %d gives %d, want %d: %+v", down.Limit, len(got), len(want), s.Filter)
	}
	if len(want) > 0 {
		up := app.Page{Limit: limit&^1 + 2, Before: want[len(want)-1]}
		if got := a.walk(s, up); !slices.Equal(got, want[:len(want)-1]) {
			a.Errorf("walk up by %d gives %d, want %d: %+v", up.Limit, len(got), len(want)-1, s.Filter)
		}
	}
}

func TestFilterSQLMatchesGoEvaluator(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	a := newAudience(t, 300, func(teamID string, i int) app.Contact { return randomContact(r, teamID, i) })
	ids := func() (ids []string) {
		for _, c := range a.contacts {
			ids = append(ids, c.ID)
		}
		return ids
	}()
	tested, some := map[string]int{}, 0
	for range 1500 {
		f := randomFilter(r, a.contacts)
		if f.Validate() != nil {
			continue // an empty value
		}
		s := &app.Segment{ID: app.NewID(), TeamID: a.team.ID, Filter: f}
		want := a.contents(s)
		if len(want) > 0 && len(want) < len(ids) {
			some++
			for _, c := range f.Conditions {
				tested[c.Field+" "+c.Op]++
			}
		}
		got, _ := a.page(s, app.Page{Limit: len(ids)})
		if !slices.Equal(got, want) {
			t.Fatalf("%d picked, want %d: %+v", len(got), len(want), f)
		}
	}
	for field, ops := range fieldOps() {
		for _, op := range ops {
			if tested[field+" "+op] < 5 && field != "email" {
				t.Errorf("%s %s distinguished contacts in only %d filters", field, op, tested[field+" "+op])
			}
		}
	}
	for range 40 {
		byHand := ids[r.IntN(len(ids)):]
		byHand = byHand[:r.IntN(len(byHand)+1)]
		f := randomFilter(r, a.contacts)
		if f.Validate() != nil {
			f = nil
		}
		a.check(a.segment(f, byHand...), 1+r.IntN(50), byHand...)
	}
	t.Logf("%d filters picked some and not all", some)
}

func TestScansOfSeveralRanges(t *testing.T) {
	t.Parallel()
	const n = 2*scanRange + 10
	a := newAudience(t, n, func(teamID string, i int) app.Contact {
		email := fmt.Sprintf("u%d@example.org", i)
		return app.Contact{ID: app.NewID(), TeamID: teamID, Hash: hashOf(email), Email: email, FirstName: strconv.Itoa(i), CreatedAt: filterEpoch, UpdatedAt: filterEpoch}
	})
	names := func(names ...int) *app.Filter {
		f := &app.Filter{Match: app.MatchAny}
		for _, name := range names {
			f.Conditions = append(f.Conditions, app.Condition{Field: "first_name", Op: app.OpEquals, Value: strconv.Itoa(name)})
		}
		return f
	}
	edges := names(0, 1, 9, 10, 11, scanRange-1, scanRange, scanRange+1, scanRange+9, scanRange+10, scanRange+11, 2*scanRange-1, 2*scanRange, n-1)
	none := names(n)
	all := &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "email", Op: app.OpContains, Value: "@"}}}
	var everyThird []string
	for i := 0; i < n; i += 3 {
		everyThird = append(everyThird, a.contacts[i].ID)
	}
	for _, limit := range []int{1, 4, 100} {
		a.check(a.segment(edges), limit)
		a.check(a.segment(edges, a.contacts[scanRange].ID, a.contacts[3].ID), limit, a.contacts[scanRange].ID, a.contacts[3].ID)
	}
	a.check(a.segment(none), 20)
	a.check(a.segment(all), 100)
	a.check(a.segment(all, a.contacts[0].ID), 100, a.contacts[0].ID)
	a.check(a.segment(edges, everyThird...), 100, everyThird...)
	a.check(a.segment(nil, everyThird...), 100, everyThird...)
	a.check(a.segment(&app.Filter{Match: app.MatchAll}, everyThird...), 100)
	t.Run("a scan of too many rows ends", func(t *testing.T) {
		a.read(func(r *Reader) error {
			s := a.segment(none)
			if _, err := r.CountSegment(t.Context(), Effort{MaxRows: scanRange}, s); !errors.Is(err, ErrLong) {
				t.Errorf("count: %v", err)
			}
			if _, _, err := r.ListSegmentContacts(t.Context(), Effort{MaxRows: scanRange}, s, app.Page{Limit: 20}); !errors.Is(err, ErrLong) {
				t.Errorf("list: %v", err)
			}
			if _, err := r.CountSegment(t.Context(), Effort{MaxRows: 3 * scanRange}, s); err != nil {
				t.Errorf("count of all: %v", err)
			}
			rows, _, err := r.ListSegmentContacts(t.Context(), Effort{MaxRows: scanRange}, a.segment(all), app.Page{Limit: 20})
			if len(rows) != 20 {
				t.Errorf("a page near its cursor: %d rows, %v", len(rows), err)
			}
			return nil
		})
	})
	t.Run("a scan ends with its context", func(t *testing.T) {
		a.read(func(r *Reader) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := r.CountSegment(ctx, Effort{}, a.segment(all)); !errors.Is(err, context.Canceled) {
				t.Errorf("count: %v", err)
			}
			return nil
		})
	})
}

func TestListSegmentContactsRejectsForeignCursor(t *testing.T) {
	t.Parallel()
	a := newAudience(t, 4, func(teamID string, i int) app.Contact {
		email := fmt.Sprintf("u%d@example.org", i)
		return app.Contact{ID: app.NewID(), TeamID: teamID, Hash: hashOf(email), Email: email, Unsubscribed: i%2 == 0, CreatedAt: filterEpoch, UpdatedAt: filterEpoch}
	})
	f := &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: "unsubscribed", Op: app.OpIsTrue}}}
	both, byHand := a.segment(f, a.contacts[3].ID), a.segment(nil, a.contacts[3].ID)
	foreign := *both
	foreign.TeamID = app.NewID()
	for _, tt := range []struct {
		s    *app.Segment
		i    int
		want error
	}{{both, 0, nil}, {both, 1, ErrNotFound}, {both, 2, nil}, {both, 3, nil}, {byHand, 0, ErrNotFound}, {byHand, 3, nil}, {&foreign, 0, ErrNotFound}, {&foreign, 3, ErrNotFound}} {
		for _, page := range []app.Page{{Limit: 1, After: a.contacts[tt.i].ID}, {Limit: 1, Before: a.contacts[tt.i].ID}} {
			a.read(func(r *Reader) error {
				if _, _, err := r.ListSegmentContacts(a.Context(), Effort{}, tt.s, page); !errors.Is(err, tt.want) {
					t.Errorf("cursor %d of %+v: %v, want %v", tt.i, tt.s.Filter, err, tt.want)
				}
				return nil
			})
		}
	}
}

// TestConditionsOnOtherTablesUseIndexes: a scan evaluates them for each contact.
func TestConditionsOnOtherTablesUseIndexes(t *testing.T) {
	t.Parallel()
	pool := memoryDB(t, schemaText(t))
	for _, tt := range []struct{ field, op, want string }{
		{app.FieldReceived, app.OpNotInBroadcast, "SEARCH br USING INDEX broadcast_recipients_contact (<expr>=? AND contact_id=?)"},
		{app.FieldOpened, app.OpInBroadcast, "SEARCH br USING INDEX broadcast_recipients_contact (<expr>=? AND contact_id=?)"},
		{app.FieldTopic, app.OpSubscribed, "SEARCH tc USING PRIMARY KEY (topic_id=? AND address=?)"},
	} {
		c, err := conditionOf(&app.Condition{Field: tt.field, Op: tt.op, Value: app.NewID()}, sqliteFilters{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		lines, err := planOf(t.Context(), pool, strings.Replace(pickedIDs, filterPlaceholder, c.text, 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(lines, "; "); !strings.Contains(got, tt.want) || strings.Contains(got, "SCAN") {
			t.Errorf("%s %s: %s", tt.field, tt.op, got)
		}
	}
}

// TestFilteredStatementsUseIndexes checks the plans of each statement with a filter for
// each kind of condition.
func TestFilteredStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	pool := memoryDB(t, schemaText(t))
	all := allStatements(t)
	// The index look-ups of audience statements in addition to the filter.
	const byIndex = "; CORRELATED SCALAR SUBQUERY 1; SEARCH s USING COVERING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?)" +
		"; CORRELATED SCALAR SUBQUERY 2; SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)"
	const memberByIndex = "; CORRELATED SCALAR SUBQUERY 1; SEARCH m USING PRIMARY KEY (segment_id=? AND contact_id=?)" +
		"; CORRELATED SCALAR SUBQUERY 2; SEARCH s USING COVERING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?)" +
		"; CORRELATED SCALAR SUBQUERY 3; SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)"
	byContact := "SEARCH c USING PRIMARY KEY (team_id=? AND id>? AND id<?)" + memberByIndex
	byMember := "SEARCH m USING PRIMARY KEY (segment_id=? AND contact_id>? AND contact_id<?); SEARCH c USING PRIMARY KEY (team_id=? AND id=?)" + byIndex
	const leftOut = "; SEARCH s USING INDEX sqlite_autoindex_suppressions_2 (team_id=? AND address=?) LEFT-JOIN" +
		"; CORRELATED SCALAR SUBQUERY 1; SEARCH ch USING PRIMARY KEY (topic_id=? AND address=?)"
	want := map[string]string{
		"CountLeftOut": "SEARCH c USING PRIMARY KEY (team_id=? AND id>? AND id<?)" +
			"; CORRELATED SCALAR SUBQUERY 2; SEARCH m USING PRIMARY KEY (segment_id=? AND contact_id=?)" + leftOut,
		"CountLeftOut by hand": "SEARCH m USING PRIMARY KEY (segment_id=? AND contact_id>? AND contact_id<?); SEARCH c USING PRIMARY KEY (team_id=? AND id=?)" + leftOut,
		"CountAudience":        byContact, "CountAudience by hand": byMember, "AudienceContacts": byContact, "AudienceContacts by hand": byMember,
		"countPicked":   "SEARCH c USING PRIMARY KEY (team_id=? AND id>? AND id<?)",
		"countUnpicked": "SEARCH m USING PRIMARY KEY (segment_id=? AND contact_id>? AND contact_id<?); SEARCH c USING PRIMARY KEY (team_id=? AND id=?)",
		"pickedDown":    "SEARCH c USING PRIMARY KEY (team_id=? AND id>? AND id<?)",
		"pickedUp":      "SEARCH c USING PRIMARY KEY (team_id=? AND id>? AND id<?)",
	}
	seen := 0
	for _, s := range all {
		if !strings.Contains(s.text, filterPlaceholder) {
			continue
		}
		seen++
		name := s.function
		if (strings.Contains(name, "Audience") || name == "CountLeftOut") && strings.Contains(s.text, "FROM members AS m CROSS JOIN") {
			name += " by hand"
		}
		for field, ops := range fieldOps() {
			for _, op := range ops {
				for _, value := range []string{"5", "x", "2026-11-21"} {
					c := app.Condition{Field: field, Op: op, Value: value}
					f := app.Filter{Match: app.MatchAny, Conditions: []app.Condition{c, {Field: "unsubscribed", Op: app.OpIsTrue}}}
					if f.Validate() != nil {
						continue
					}
					filter, err := where(&f, sqliteFilters{})
					if err != nil {
						t.Fatal(err)
					}
					lines, err := planOf(t.Context(), pool, strings.Replace(s.text, filterPlaceholder, filter.text, 1))
					if err != nil {
						t.Fatalf("%s with %+v: %v", s.function, c, err)
					}
					if got := strings.Join(lines, "; "); got != want[name] {
						t.Errorf("%s with %+v: plan %q", name, c, got)
					}
				}
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d statements take a filter, want %d", seen, len(want))
	}
}

func TestUnknownFieldsAndOperatorsAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []app.Condition{{Field: "id", Op: app.OpEquals}, {Field: "email; DROP TABLE contacts", Op: app.OpEquals}, {Field: "email", Op: "= 1 OR"},
		{Field: "email", Op: app.OpGreaterThan}, {Field: "unsubscribed", Op: app.OpEquals}, {Field: "created_at", Op: app.OpEquals, Value: "2026-11-21"},
		{Field: "created_at", Op: app.OpBefore, Value: "soon"}, {Field: "property:a", Op: app.OpIsTrue}} {
		if got, err := conditionOf(&c, sqliteFilters{}, time.Time{}); err == nil {
			t.Errorf("%+v gives %q", c, got.text)
		}
	}
}
