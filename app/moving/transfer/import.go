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
	batchSize        = 1000                  // items of one write
	maxAddedPerWrite = 50 * time.Millisecond // between two writes while a server runs
)

// Options are the options of an import.
type Options struct {
	Apply  bool // false: a dry run
	Emails bool // import emails as history
	// Trust: the archive's statements about verified and trusted domains are accepted.
	Trust bool
	// Onto: a server runs, so a long import pauses between two writes.
	Onto bool
	// TriggerAutomations: automations start and continue because of the contacts that are written.
	TriggerAutomations bool
	// FetchImages fetches the images that templates and broadcasts of another service show, which are
	// then images of the team; nil: they stay where they are.
	FetchImages app.FetchFiles
	// Mapping receives ids that could not be kept, as CSV; nil: none.
	Mapping io.Writer
	// Progress is called with the number of processed items of a kind; may be nil.
	Progress func(kind archive.Kind, n int)
}

// importer is a running import.
type importer struct {
	Options
	s       *Service
	team    *app.Team
	r       *archive.Reader
	report  *Report
	mapping *csv.Writer

	types    map[string]app.PropertyType // of properties by key
	segments map[string]string           // ids by archived ids
	topics   map[string]string
	domains  map[string]string
	images   map[string]*app.Image // by the archived name, or the address elsewhere; nil: it can't be had
	newTopic map[string]bool       // by id here

	templateIDs   map[string]string // ids by archived ids
	formIDs       map[string]string
	broadcastIDs  map[string]string
	webhookIDs    map[string]string
	automationIDs map[string]string
	archives      map[string]bool // topics here whose archives take issues
	verified      map[string]bool // names of domains that begin as verified

	newBlocks app.Blocks // created by this run

	positions  []uint64                         // of contacts that did not opt out
	until      time.Time                        // end of the pause for the server
	dryRun     *audience.DryRun                 // of a dry run
	suppressed map[uint64]app.SuppressionOrigin // by the addresses of counted suppressions
	chosen     map[uint64]app.Subscription      // choices counted by a dry run, by choiceMark
}

// Import imports an archive into a team, or in a dry run only reports what it would do. It can be
// canceled by ctx and run again. The report covers what was done so far, also with an error.
// Errors: those of the archive, of the store, and of ctx.
func (s *Service) Import(ctx context.Context, team *app.Team, r *archive.Reader, o Options) (*Report, error) {
	m := &importer{Options: o, s: s, team: team, r: r, report: newReport(r.Team.Source, o.Apply),
		segments: map[string]string{}, topics: map[string]string{}, domains: map[string]string{}, images: map[string]*app.Image{}, newTopic: map[string]bool{}, templateIDs: map[string]string{}, formIDs: map[string]string{}, broadcastIDs: map[string]string{}, webhookIDs: map[string]string{}, automationIDs: map[string]string{}, archives: map[string]bool{}, verified: map[string]bool{}, newBlocks: app.Blocks{},
		chosen: map[uint64]app.Subscription{}, suppressed: map[uint64]app.SuppressionOrigin{}}
	m.report.Suppressions.Left = r.Team.Left
	if o.Mapping != nil {
		m.mapping = csv.NewWriter(o.Mapping)
	}
	for _, step := range []func(context.Context) error{
		m.known, m.readUnmovables, m.properties, m.topicsIn, m.segmentsIn, // referenced by the rest
		m.optedOut, m.optOuts, m.suppressions, // opt-outs
		m.contacts, m.optIns,
		m.domainsIn, m.imagesIn, m.blocksIn, m.templates, m.formsIn, m.optInsIn, m.consentsIn, m.broadcasts, m.archivesIn, m.feedsIn, m.webhooks, m.destinationsIn, m.routesIn, m.replyAddresses, m.customEventsIn, m.automationsIn, m.keys, m.emails,
		m.audit,
	} {
		if err := step(ctx); err != nil {
			return m.report, err
		}
	}
	slices.SortStableFunc(m.report.Refused, func(a, b archive.Refusal) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	return m.report, nil
}

// known reads data of the team that is needed repeatedly.
func (m *importer) known(ctx context.Context) error {
	return m.s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if m.types, err = r.PropertyTypes(m.team.ID); err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		m.dryRun, err = audience.NewDryRun(m.s.audience, r, m.team.ID, m.types)
		return err
	})
}

// readUnmovables copies what the source's reader reported.
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

// refuse reports a row that is not imported.
func (m *importer) refuse(at archive.Position, reason string) {
	m.report.Refused = append(m.report.Refused, archive.Refusal{Position: at, Reason: reason})
}

// unmovable reports an object that is not imported, or not completely.
func (m *importer) unmovable(what, why string) {
	m.report.Cannot = append(m.report.Cannot, archive.Unmovable{Item: what, Reason: why})
}

// positionOf returns the position of an item in the source's file, or in the archive.
func positionOf(from archive.Position, kind archive.Kind, line int) archive.Position {
	if from.File != "" {
		return from
	}
	return archive.Position{File: string(kind) + ".json", Line: line}
}

// moved records an id that could not be kept.
func (m *importer) moved(kind archive.Kind, from, to string) error {
	if m.mapping == nil || from == "" || from == to || !m.Apply {
		return nil
	}
	if err := m.mapping.Write([]string{string(kind), from, to}); err != nil {
		return fmt.Errorf("write the mapping of ids: %w", err)
	}
	return nil
}

// progress reports the progress of a kind and writes the mapping.
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

// write runs a write of an import that applies. If a server runs, it then pauses for half as long
// as the write took.
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
	m.until = time.Now().Add(min(time.Since(began)/2, maxAddedPerWrite)) // the next items are read meanwhile
	return nil
}

// id returns an archived id if it may be kept, otherwise a new one.
func (m *importer) id(archived string) string {
	if id, ok := app.ParseID(archived); ok && m.r.Team.FromMailer() {
		return id
	}
	return app.NewID()
}

// orDefault returns t, or now for the zero time.
func orDefault(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// audit appends the import to the audit log.
func (m *importer) audit(ctx context.Context) error {
	if !m.Apply {
		return nil
	}
	r := m.report
	return m.write(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, m.team.ID, "import", r.Source, nil, map[string]any{
			"contacts": r.Contacts, "opted_out": r.OptedOut, "topic_choices": r.TopicChoices, "suppressions": r.Suppressions,
			"blocks": len(r.Blocks), "templates": len(r.Templates), "forms": len(r.Forms), "opt_ins": r.OptIns, "consents": r.Consents, "broadcasts": len(r.Broadcasts), "issues": r.Issues, "feeds": len(r.Feeds), "domains": len(r.Domains), "webhooks": len(r.Webhooks), "routes": len(r.Routes), "keys": len(r.Keys)})
	})
}
