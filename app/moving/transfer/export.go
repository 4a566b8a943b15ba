package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/archive"
	"mailer/app/tenants/domains"
	"mailer/db"
)

// batchRows is how many rows one snapshot of an export reads.
const batchRows = 1000

// Exporter exports teams to directories. It does not change the database.
type Exporter struct {
	*base.Base
	domains *domains.Service
}

// NewExporter returns an Exporter.
func NewExporter(base *base.Base, domains *domains.Service) *Exporter {
	return &Exporter{base, domains}
}

// ExportOptions say what is exported.
type ExportOptions struct {
	Emails    bool // finished emails with their events and attachments
	NoSecrets bool // no DKIM keys, signing secrets and hashes of API keys
	NoSheets  bool // no CSV files: the directory is only for import
	Version   string
	Begin     func() error          // called before the first row is read; may be nil
	Progress  func(done, all int64) // may be nil
}

// Exported is the result of an export.
type Exported struct {
	Dir    string              `json:"dir"`
	Counts map[string]int      `json:"counts"`
	Cannot []archive.Unmovable `json:"cannot"` // what of the team was not exported
}

// export is a running export.
type export struct {
	*Exporter
	ctx      context.Context
	team     app.Team
	opts     ExportOptions
	w        *archive.Writer
	sheets   *archive.Sheets // nil: none
	out      Exported
	segments map[string]bool // written
	topics   map[string]bool // written
	optedOut map[string]bool // contacts that changed since began and were written as unsubscribed
	began    time.Time
	done     int64
	all      int64
}

// Export exports a team to a new or empty directory. There is no common snapshot: each object is
// read at its turn. Suppressions, contacts that unsubscribed meanwhile and topic choices come
// last, so that earlier opt-outs are contained. A directory is complete when it has team.json.
// Errors: archive.ErrNotEmpty, those of the store and of the disk.
func (e *Exporter) Export(ctx context.Context, team app.Team, dir string, opts ExportOptions) (Exported, error) {
	w, err := archive.Create(dir)
	if err != nil {
		return Exported{}, err
	}
	x := &export{Exporter: e, ctx: ctx, team: team, opts: opts, w: w, out: Exported{Dir: dir, Counts: map[string]int{}, Cannot: []archive.Unmovable{}},
		segments: map[string]bool{}, topics: map[string]bool{}, optedOut: map[string]bool{}, began: clock.Now().Add(-time.Second)}
	if !opts.NoSheets {
		x.sheets = archive.NewSheets(dir)
	}
	err = x.run()
	var settings db.TeamSettings
	if err == nil {
		settings, err = db.Get(ctx, e.DB, func(r *db.Reader) (db.TeamSettings, error) { return r.TeamSettings(team.ID) })
	}
	if x.sheets != nil {
		err = errors.Join(err, x.sheets.Close())
	}
	if err == nil {
		err = w.Finish(&archive.Team{Source: archive.SourceMailer, Name: team.Name, Version: opts.Version, ExportedAt: clock.Now().UTC().Truncate(time.Millisecond), Emails: opts.Emails, ReplyAddresses: settings.ReplyAddresses})
	}
	if err != nil {
		w.Close()
		return x.out, fmt.Errorf("the export is not whole, and %s is of no use: %w", dir, err)
	}
	return x.out, nil
}

func (x *export) run() error {
	if x.opts.Begin != nil {
		if err := x.opts.Begin(); err != nil {
			return fmt.Errorf("record the export: %w", err)
		}
	}
	err := x.DB.Read(x.ctx, func(r *db.Reader) error {
		size, err := r.TeamSize(x.team.ID)
		if x.all = size.Contacts; x.opts.Emails {
			x.all += size.Emails
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count the objects of the team: %w", err)
	}
	for _, part := range []struct {
		what string
		run  func() error
	}{
		{"properties", x.properties}, {"segments", x.allSegments}, {"topics", x.allTopics}, {"images", x.images}, {"blocks", x.allBlocks}, {"templates", x.templates}, {"forms", x.forms}, {"broadcasts", x.broadcasts}, {"issues", x.issues}, {"feeds", x.feeds}, {"the pages host", x.pagesHost},
		{"domains", x.allDomains}, {"webhooks", x.webhooks}, {"routes", x.mailRoutes}, {"keys", x.keys}, {"contacts", x.contacts}, {"opt-ins", x.optInsOut}, {"consents", x.consents}, {"events", x.customEvents}, {"automations", x.automations}, {"emails", x.emails},
		{"suppressions", x.suppressions}, {"opt-outs", x.optOuts}, {"choices", x.choices}, {"what is left out", x.listUnmovables},
	} {
		if err := part.run(); err != nil {
			return fmt.Errorf("export %s: %w", part.what, err)
		}
	}
	return nil
}

// put writes an item.
func (x *export) put(kind archive.Kind, item any) error {
	if err := x.w.Put(kind, item); err != nil {
		return err
	}
	x.out.Counts[string(kind)] = x.w.Count(kind)
	if x.sheets == nil {
		return nil
	}
	return x.sheets.Put(kind, item)
}

// unmovable records what can't be exported.
func (x *export) unmovable(what, why string) {
	x.out.Cannot = append(x.out.Cannot, archive.Unmovable{Item: what, Reason: why})
}

func (x *export) listUnmovables() error {
	for i := range x.out.Cannot {
		if err := x.w.Put(archive.Unmovables, &x.out.Cannot[i]); err != nil {
			return err
		}
	}
	return nil
}

// progress adds to the progress.
func (x *export) progress(n int) {
	if x.done += int64(n); x.opts.Progress != nil {
		x.opts.Progress(x.done, x.all)
	}
}

// walk calls read for batch after batch of a list with the last id of the previous one, until read
// returns no id.
func (x *export) walk(read func(after string) (last string, err error)) error {
	for after := ""; ; {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		last, err := read(after)
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

// rows reads a batch of a list in one snapshot, then writes its n rows one by one. id returns the
// id of the n-th row. rows returns the id of the last row, or empty at the end.
func (x *export) rows(read func(r *db.Reader) (n int, err error), id func(i int) string, put func(i int) error) (last string, err error) {
	n := 0
	if err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) { n, err = read(r); return err }); err != nil {
		return "", err
	}
	for i := range n {
		if err := put(i); err != nil {
			return "", err
		}
	}
	if n < batchRows {
		return "", nil
	}
	return id(n - 1), nil
}
