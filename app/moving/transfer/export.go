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

// batchRows is how many rows of an export one snapshot reads.
const batchRows = 1000

// Exporter writes teams to directories. It changes nothing in the database.
type Exporter struct {
	*base.Base
	domains *domains.Service
}

// NewExporter makes the Exporter of a process.
func NewExporter(base *base.Base, domains *domains.Service) *Exporter {
	return &Exporter{base, domains}
}

// ExportOptions say what of a team is exported beside its things.
type ExportOptions struct {
	Emails    bool // those that are over, with their events and attachments
	NoSecrets bool // without DKIM keys, signing secrets and hashes of API keys
	NoSheets  bool // without CSV: the directory is only read back
	Version   string
	Begin     func() error          // called before the first row is read; nil: nobody asks
	Progress  func(done, all int64) // nil: nobody watches
}

// Exported is what an export wrote.
type Exported struct {
	Dir    string              `json:"dir"`
	Counts map[string]int      `json:"counts"`
	Cannot []archive.Unmovable `json:"cannot"` // what of the team is not in it
}

// export is one on its way.
type export struct {
	*Exporter
	ctx      context.Context
	team     app.Team
	opts     ExportOptions
	w        *archive.Writer
	sheets   *archive.Sheets // nil: none
	out      Exported
	segments map[string]bool // that were written
	topics   map[string]bool // that were written
	optedOut map[string]bool // contacts that were changed since began and written as unsubscribed
	began    time.Time
	done     int64
	all      int64
}

// Export writes a team to a directory that is new or empty. Nothing is read in one
// snapshot: each contact, template and so on is as it was when its turn came, and
// suppressions, contacts that unsubscribed meanwhile and choices about topics come last,
// so that whoever opted out before that is in it as opted out. A directory is whole once
// it has its team.json; one that was cut off is none. Errors: archive.ErrNotEmpty, those
// of the store and of the disk.
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
	if x.sheets != nil {
		err = errors.Join(err, x.sheets.Close())
	}
	if err == nil {
		err = w.Finish(&archive.Team{Source: archive.SourceMailer, Name: team.Name, Version: opts.Version, ExportedAt: clock.Now().UTC().Truncate(time.Millisecond), Emails: opts.Emails})
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
			return fmt.Errorf("note the export: %w", err)
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
		return fmt.Errorf("count what the team has: %w", err)
	}
	for _, part := range []struct {
		what string
		run  func() error
	}{
		{"properties", x.properties}, {"segments", x.allSegments}, {"topics", x.allTopics}, {"templates", x.templates}, {"broadcasts", x.broadcasts},
		{"domains", x.allDomains}, {"webhooks", x.webhooks}, {"keys", x.keys}, {"contacts", x.contacts}, {"emails", x.emails},
		{"suppressions", x.suppressions}, {"opt-outs", x.optOuts}, {"choices", x.choices}, {"what is left out", x.listUnmovables},
	} {
		if err := part.run(); err != nil {
			return fmt.Errorf("export %s: %w", part.what, err)
		}
	}
	return nil
}

// put writes an item down.
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

// unmovable notes what can't be exported.
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

// progress notes that more is done.
func (x *export) progress(n int) {
	if x.done += int64(n); x.opts.Progress != nil {
		x.opts.Progress(x.done, x.all)
	}
}

// walk calls read for piece after piece of a list, with the last id of the one before. It
// ends where read returns no id.
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

// rows reads a piece of a list in one snapshot, then puts its n rows one by one. id names
// the nth; the answer is that of the last, or empty behind the end.
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
