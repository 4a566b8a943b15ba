package transfer

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/archive"
	"mailer/app/tenants/audience"
	"mailer/db"
)

const (
	batchSize        = 1000                  // items of one Write
	maxAddedPerWrite = 50 * time.Millisecond // between two Writes, while a server works beside
)

// Options say how an archive is taken in.
type Options struct {
	Apply  bool // false: it is only told what would be done
	Emails bool // emails of the past too
	// Trust: it is believed which domains are verified, and which an operator vouched for.
	Trust bool
	// Onto a running server a long import leaves the database to it between two Writes.
	Onto bool
	// Mapping is told of ids that could not be kept, as CSV; nil: nobody is.
	Mapping io.Writer
	// Progress is told how many items of a kind were worked off; nil: nobody is.
	Progress func(kind archive.Kind, n int)
}

// importer is an archive on its way into a team.
type importer struct {
	Options
	s       *Service
	team    *app.Team
	r       *archive.Reader
	report  *Report
	mapping *csv.Writer

	types    map[string]app.PropertyType // of properties, by key
	segments map[string]string           // ids, by those of the archive
	topics   map[string]string
	domains  map[string]string
	newTopic map[string]bool // by our id

	positions  []uint64                         // of contacts that did not opt out
	until      time.Time                        // others have the database, beside a server
	dryRun     *audience.DryRun                 // of a plan
	suppressed map[uint64]app.SuppressionOrigin // by the addresses of the suppressions that were counted
	chosen     map[uint64]app.Subscription      // what a plan counted, by choiceMark
}

// Import takes an archive into a team, or only tells what it would do. It can be cut off
// by ctx and run again. The report is that of what was done so far, also with an error.
// Errors: those of the archive, of the store, and of ctx.
func (s *Service) Import(ctx context.Context, team *app.Team, r *archive.Reader, o Options) (*Report, error) {
	m := &importer{Options: o, s: s, team: team, r: r, report: newReport(r.Team.Source, o.Apply),
		segments: map[string]string{}, topics: map[string]string{}, domains: map[string]string{}, newTopic: map[string]bool{},
		chosen: map[uint64]app.Subscription{}, suppressed: map[uint64]app.SuppressionOrigin{}}
	m.report.Suppressions.Left = r.Team.Left
	if o.Mapping != nil {
		m.mapping = csv.NewWriter(o.Mapping)
	}
	for _, step := range []func(context.Context) error{
		m.known, m.readUnmovables, m.properties, m.topicsIn, m.segmentsIn, // what the rest refers to
		m.optedOut, m.optOuts, m.suppressions, // who gets no mail
		m.contacts, m.optIns,
		m.templates, m.domainsIn, m.broadcasts, m.webhooks, m.keys, m.emails,
		m.audit,
	} {
		if err := step(ctx); err != nil {
			return m.report, err
		}
	}
	slices.SortStableFunc(m.report.Refused, func(a, b archive.Refusal) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	return m.report, nil
}

// known reads what the team has that the import asks for again and again.
func (m *importer) known(ctx context.Context) error {
	return m.s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if m.types, err = r.PropertyTypes(m.team.ID); err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		m.dryRun, err = audience.NewDryRun(m.s.audience, r, m.team.ID, m.types)
		return err
	})
}

// readUnmovables takes over what the reader of the source could not take.
func (m *importer) readUnmovables(context.Context) error {
	var lack archive.Unmovable
	if err := m.r.Each(archive.Unmovables, &lack, func(int) error {
		m.report.Cannot = append(m.report.Cannot, lack)
		return nil
	}); err != nil {
		return err
	}
	var consent archive.Consent
	if err := m.r.Each(archive.Consents, &consent, func(int) error {
		m.report.Consent = append(m.report.Consent, consent)
		return nil
	}); err != nil {
		return err
	}
	var refusal archive.Refusal
	return m.r.Each(archive.Refusals, &refusal, func(int) error {
		if refusal.Kind == "" {
			m.report.Contacts.Refused++
		}
		m.refuse(refusal.Position, refusal.Reason)
		return nil
	})
}

// refuse names a row that is not taken.
func (m *importer) refuse(at archive.Position, reason string) {
	m.report.Refused = append(m.report.Refused, archive.Refusal{Position: at, Reason: reason})
}

// unmovable names a thing that is not taken, or not whole.
func (m *importer) unmovable(what, why string) {
	m.report.Cannot = append(m.report.Cannot, archive.Unmovable{Item: what, Reason: why})
}

// positionOf is where an item stood: in the source's own file, or in the archive's.
func positionOf(from archive.Position, kind archive.Kind, line int) archive.Position {
	if from.File != "" {
		return from
	}
	return archive.Position{File: string(kind) + ".json", Line: line}
}

// moved notes an id that could not be kept.
func (m *importer) moved(kind archive.Kind, from, to string) error {
	if m.mapping == nil || from == "" || from == to || !m.Apply {
		return nil
	}
	if err := m.mapping.Write([]string{string(kind), from, to}); err != nil {
		return fmt.Errorf("write the mapping of ids: %w", err)
	}
	return nil
}

// progress says how far a kind is, and has the mapping written.
func (m *importer) progress(kind archive.Kind, n int) error {
	if m.Progress != nil {
		m.Progress(kind, n)
	}
	if m.mapping == nil {
		return nil
	}
	m.mapping.Flush()
	if err := m.mapping.Error(); err != nil {
		return fmt.Errorf("write the mapping of ids: %w", err)
	}
	return nil
}

// write carries out a Write of an import that applies; beside a server it leaves the
// database to others then for half as long as it took.
func (m *importer) write(ctx context.Context, fn func(tx *db.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.Onto {
		base.Sleep(ctx, time.Until(m.until), nil)
	}
	began := time.Now()
	if err := m.s.DB.WriteBatched(ctx, fn); err != nil {
		return err
	}
	m.until = time.Now().Add(min(time.Since(began)/2, maxAddedPerWrite)) // what comes next is read meanwhile
	return nil
}

// id is that of an item of the archive where it may be kept, else a new one.
func (m *importer) id(archived string) string {
	if id, ok := app.ParseID(archived); ok && m.r.Team.FromMailer() {
		return id
	}
	return app.NewID()
}

// orDefault is t, or now for a zero time.
func orDefault(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// audit appends to the audit log what came in.
func (m *importer) audit(ctx context.Context) error {
	if !m.Apply {
		return nil
	}
	r := m.report
	return m.write(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, m.team.ID, "import", r.Source, nil, map[string]any{
			"contacts": r.Contacts, "opted_out": r.OptedOut, "topic_choices": r.TopicChoices, "suppressions": r.Suppressions,
			"templates": len(r.Templates), "broadcasts": len(r.Broadcasts), "domains": len(r.Domains), "webhooks": len(r.Webhooks), "keys": len(r.Keys)})
	})
}
