package health

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/delivery"
	"mailer/app/order"
	"mailer/app/queue"
	"mailer/app/routing"
	"mailer/app/service"
	"mailer/db"
)

// Status is how a server is, at a glance.
type Status struct {
	OK       bool             `json:"ok"` // nothing needs a person
	Needs    []Need           `json:"needs"`
	Relays   []routing.Status `json:"relays"`
	Queue    queue.Summary    `json:"queue"`
	Database Database         `json:"database"`
	Backup   LastBackup       `json:"backup"`
	// Certificates are those of the server's own listeners, what ends first before others.
	Certificates []Certificate `json:"certificates" doc:"Of the server's own listeners, what ends first before others; 100 at most"`
	Version      string        `json:"version"`
	// Servers are those that share a database elsewhere, the one that works first.
	Servers []Sharer `json:"servers,omitempty"`

	Captures  bool `json:"-"` // nothing leaves
	Elsewhere bool `json:"-"` // the database is not in a file: no backup of it is made here
}

// Sharer is a server that shares a database elsewhere.
type Sharer struct {
	Address string `json:"address"` // machine and process
	Leads   bool   `json:"leads"`   // else it works beside the one that does
	Since   string `json:"since"`
	Silent  int64  `json:"silent_ms"` // milliseconds since it was heard of last
}

// Need is something that a person has to do.
type Need struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

// Database is how much room there is and is taken, in bytes.
type Database struct {
	Bytes    int64 `json:"bytes"`
	WALBytes int64 `json:"wal_bytes"`
	DiskFree int64 `json:"disk_free"`

	Tables []Table `json:"-"` // those that take most, with their indexes
}

// Table is how much room one takes, in bytes.
type Table struct {
	Name  string
	Bytes int64
}

// LastBackup is the last backup that went well.
type LastBackup struct {
	Last *string `json:"last"` // null: none was made
}

const (
	// maxWAL is the largest log of the database that is left alone, in bytes.
	maxWAL = 1 << 30
	// maxOldest is how long mail waits that could leave before somebody is to look.
	maxOldest = time.Hour
	// mostTables is how many tables are named.
	mostTables = 5
)

// Status looks at a server. version is that of the program. What takes the room in the
// database is left out: FillTables reads all of it.
func (s *Service) Status(ctx context.Context, version string) (out Status, err error) {
	out.Version, out.Needs, out.Captures, out.Elsewhere = version, []Need{}, s.Settings.Capture, db.IsRemote(s.DB.Path())
	if out.Relays, err = s.routing.List(ctx); err != nil {
		return out, err
	}
	if out.Queue, err = s.queue.Summary(ctx, ""); err != nil {
		return out, err
	}
	if out.Database, err = s.sizes(); err != nil {
		return out, err
	}
	last, err := s.backup.Last(ctx)
	if err != nil {
		return out, err
	}
	out.Backup.Last = app.FormatTimePtr(last.At)
	if !s.place.Running {
		out.need("no server is running on "+db.Name(s.place.Database)+": no mail is accepted or sent", "mailer serve, or systemctl start mailer")
	}
	if why := s.refuses(ctx); why != "" {
		out.need("the server does not accept mail: "+why, readyFix)
	}
	for _, step := range []func(*Status){s.needsOfRelays, s.needsOfQueue, needsOfDisk} {
		step(&out)
	}
	if last.Failure != "" {
		out.need(fmt.Sprintf("the daily backup has failed since %s: %s", app.FormatTime(last.FailedAt), last.Failure), "fix this problem, then back up now with mailer backup FILE")
	}
	if err := s.needsOfCertificates(ctx, &out); err != nil {
		return out, err
	}
	if out.Servers, err = s.servers(ctx); err != nil {
		return out, err
	}
	out.OK = len(out.Needs) == 0
	return out, nil
}

func (s *Service) servers(ctx context.Context) (all []Sharer, err error) {
	nodes, err := db.Nodes(ctx, s.DB)
	for _, n := range nodes {
		all = append(all, Sharer{n.Address, n.Leads, app.FormatTime(n.Started), n.Silent.Milliseconds()})
	}
	return all, err
}

func (st *Status) need(what, fix string) { st.Needs = append(st.Needs, Need{what, fix}) }

// sizes looks how much room is taken and left.
func (s *Service) sizes() (d Database, err error) {
	files, err := s.DB.FileSizes()
	d.Bytes, d.WALBytes, d.DiskFree = files.File, files.WAL, files.DiskFree
	return d, err
}

// FillTables looks which tables take most room, in every page of the database.
func (s *Service) FillTables(ctx context.Context, d *Database) error {
	space, err := s.DB.Space(ctx)
	if err != nil {
		return fmt.Errorf("read what takes the room: %w", err)
	}
	for name, bytes := range space.Tables {
		d.Tables = append(d.Tables, Table{name, bytes})
	}
	order.By(d.Tables, func(a, b Table) int { return cmp.Compare(b.Bytes, a.Bytes) })
	d.Tables = d.Tables[:min(len(d.Tables), mostTables)]
	return nil
}

func (s *Service) needsOfRelays(out *Status) {
	if s.Settings.Capture {
		return
	}
	if len(out.Relays) == 0 && s.Settings.Relay() == service.RelayNone {
		out.need("no relay is configured: mail is accepted and stays queued", "mailer relays add REGION --url-file FILE, or restart with MAILER_RELAY")
	}
	for _, r := range out.Relays {
		if r.State != delivery.RelayFailing { // others pass by themselves, or were asked for
			continue
		}
		out.need(fmt.Sprintf("relay %s (%s) fails: %s", r.Region, r.Host, textOf(r.Reason)), "mailer relays test "+r.Region)
	}
}

func textOf(s *string) string {
	if s == nil {
		return "no reason given"
	}
	return *s
}

// helds are what to do about mail that is held.
var helds = map[app.HoldReason]string{
	app.HoldDamaged:  "mailer check lists the damage; mailer queue drop --state held cancels this mail",
	app.HoldRestored: "list it with mailer queue list --state held, then run mailer queue release --restored or mailer queue drop --restored",
}

func (s *Service) needsOfQueue(out *Status) {
	held := map[string]int64{}
	var late int64
	var first time.Time
	for _, row := range out.Queue.By {
		switch {
		case row.State == queue.Held:
			held[row.Reason] += row.Count
		case row.State == queue.Due && clock.Since(row.Oldest) > maxOldest && !s.Settings.Capture:
			late += row.Count
			first = service.Earlier(first, row.Oldest)
		}
	}
	for reason, fix := range helds {
		if n := held[string(reason)]; n > 0 {
			out.need(fmt.Sprintf("held emails (%s): %d", reason, n), fix)
		}
	}
	if late > 0 && s.place.Running {
		out.need(fmt.Sprintf("%d emails are due but not sent, oldest since %s", late, app.FormatTime(first)), "list them with mailer queue list --state due; find the cause with mailer doctor; a higher rate= or connections= of the relay sends faster")
	}
	for _, row := range out.Queue.By {
		if row.State == queue.Relay && s.Settings.Lack(row.Relay) != "" && s.Settings.Relay() == service.RelayConfigured {
			out.need(fmt.Sprintf("%d emails are queued for the region %s, which has no relay", row.Count, row.Relay), "mailer relays add "+row.Relay+" --url-file FILE, or mailer queue move --relay "+row.Relay+" --to-relay R")
		}
	}
}

func needsOfDisk(out *Status) {
	if c := judgeDisk("the database", out.Database.DiskFree); !c.OK {
		out.need(c.Found, c.Fix)
	}
	if out.Database.WALBytes > maxWAL {
		out.need("the log of the database has "+service.Size(out.Database.WALBytes)+": a reader keeps it from shrinking", "look for a stuck backup or sqlite3 shell: run lsof on the database's files")
	}
}

// waiting are the checks of what waits.
func (s *Service) checkWaiting(ctx context.Context) ([]Check, error) {
	const name = "queue"
	var st Status
	var err error
	if st.Queue, err = s.queue.Summary(ctx, ""); err != nil {
		return nil, err
	}
	s.needsOfQueue(&st)
	var checks []Check
	for _, n := range st.Needs {
		checks = append(checks, bad(name, n.What, n.Fix))
	}
	if len(checks) == 0 {
		checks = append(checks, good(name, "%d wait", st.Queue.Waiting))
	}
	return checks, nil
}

// backupDays is how old the last backup may be.
const backupDays = 7

// checkBackups says nothing of a database elsewhere, of which backups are made there.
func (s *Service) checkBackups(ctx context.Context) ([]Check, error) {
	const name = "backups"
	if db.IsRemote(s.DB.Path()) {
		return nil, nil
	}
	const fix = "back up now with mailer backup FILE, or daily with mailer serve --backup-dir DIR"
	last, err := s.backup.Last(ctx)
	switch {
	case err != nil:
		return nil, err
	case last.Failure != "":
		return []Check{bad(name, fmt.Sprintf("the daily backup has failed since %s: %s", app.FormatTime(last.FailedAt), last.Failure), "fix this problem; "+fix)}, nil
	case last.At.IsZero():
		return []Check{bad(name, "no backup yet", fix)}, nil
	case clock.Since(last.At) > backupDays*24*time.Hour:
		return []Check{bad(name, "last backup: "+app.FormatTime(last.At), fix)}, nil
	}
	return []Check{good(name, "last backup: %s: %s", app.FormatTime(last.At), last.File)}, nil
}

// checkRelays tries each relay as far as a message's end would come, without sending.
func (s *Service) checkRelays(ctx context.Context) ([]Check, error) {
	if s.Settings.Capture {
		return nil, nil
	}
	all, err := s.routing.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []Check{bad("relays", "no relay is configured: mail is accepted and stays queued", "mailer relays add REGION --url-file FILE, or mailer serve with MAILER_RELAY")}, nil
	}
	checks := make([]Check, len(all))
	var g errgroup.Group
	g.SetLimit(relaysAtOnce)
	for i, r := range all {
		g.Go(func() (err error) {
			checks[i], err = s.checkRelay(ctx, r)
			return err
		})
	}
	return checks, g.Wait()
}

// relaysAtOnce is how many relays are tried at a time: one that is down takes long.
const relaysAtOnce = 8

func (s *Service) checkRelay(ctx context.Context, r routing.Status) (Check, error) {
	name := "relay " + r.Region
	if r.State == delivery.RelayPaused {
		return bad(name, fmt.Sprintf("%s is paused: %s", r.Host, textOf(r.Reason)), "mailer relays resume "+r.Region), nil
	}
	tested, err := s.routing.Test(ctx, routing.TestInput{Region: r.Region})
	if err != nil {
		return Check{}, err
	}
	for _, step := range tested.Steps {
		if !step.OK {
			return bad(name, fmt.Sprintf("%s: %s failed: %s", r.Host, step.Step, step.Said), relayFixes[step.Step]+" (see each step with mailer relays test "+r.Region+")"), nil
		}
	}
	return good(name, "%s: connected, authenticated, sender accepted", r.Host), nil
}

// relayFixes say by step what mends it.
var relayFixes = map[string]string{
	"dns":      "use a host name that exists: mailer relays add REGION --url-file FILE, or MAILER_RELAY and a restart",
	"connect":  "check that the host is up and that no firewall or provider blocks the port",
	"tls":      "check that its certificate is valid for the host; use ca=FILE for your own certificate authority",
	"greeting": "check the port: another program may be listening on it",
	"auth":     "correct the user and password: mailer relays add REGION --url-file FILE, or MAILER_RELAY and a restart",
	"mail":     "verify the sending domain at the provider",
}
