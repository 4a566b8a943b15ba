package health

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/operate/retention"
	"mailer/app/rules/feedback"
	"mailer/app/sending/delivery"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/db"
	"mailer/db/engine"
)

// Status is the overall state of a server.
type Status struct {
	OK       bool            `json:"ok"` // nothing needs attention
	Needs    []Finding       `json:"needs"`
	Relays   []relays.Status `json:"relays"`
	Queue    queue.Summary   `json:"queue"`
	Database Database        `json:"database"`
	Backup   LastBackup      `json:"backup"`
	// Certificates are those of the server's listeners, sorted by expiry.
	Certificates []Certificate `json:"certificates" doc:"Of the server's own listeners, what ends first before others; 100 at most"`
	Version      string        `json:"version"`
	// Servers are those that share the database, the leader first.
	Servers []Node `json:"servers,omitempty"`

	Capturing bool `json:"-"` // no mail is sent
	Remote    bool `json:"-"` // PostgreSQL: backups are made by its own tools
}

// Node is a server that shares a database.
type Node struct {
	Address string `json:"address"` // machine and process
	Leads   bool   `json:"leads"`   // otherwise it is a follower
	Since   string `json:"since"`
	Silent  int64  `json:"silent_ms"` // milliseconds since its last heartbeat
}

// Database is the used and free space in bytes.
type Database struct {
	Bytes    int64              `json:"bytes"`
	WALBytes int64              `json:"wal_bytes"`
	DiskFree int64              `json:"disk_free"`
	Images   int64              `json:"images"` // of all teams, within Bytes
	Received retention.Received `json:"received"`

	Tables []Table `json:"-"` // the largest tables, with their indexes
}

// Table is the size of a table in bytes.
type Table struct {
	Name  string
	Bytes int64
}

// LastBackup is the last successful backup.
type LastBackup struct {
	Last *string `json:"last"` // null: none
}

const (
	// maxWAL is the largest write-ahead log without a finding, in bytes.
	maxWAL = 1 << 30
	// maxOldest is how long mail that could be sent may wait without a finding.
	maxOldest = time.Hour
	// maxTables is how many tables are listed.
	maxTables = 5
)

// Status returns the state of a server. version is that of the program. Table sizes are left out:
// FillTables reads the whole database.
func (s *Service) Status(ctx context.Context, version string) (out Status, err error) {
	out.Version, out.Capturing, out.Remote = version, s.Settings.Capture, engine.IsRemote(s.DB.Path())
	if out.Relays, err = s.routing.List(ctx); err != nil {
		return out, err
	}
	if out.Queue, err = s.queue.Summary(ctx, ""); err != nil {
		return out, err
	}
	if out.Database, err = s.sizes(); err != nil {
		return out, err
	}
	if out.Database.Images, err = db.Get(ctx, s.DB, (*db.Reader).AllImageBytes); err != nil {
		return out, err
	}
	if out.Database.Received, err = retention.ReceivedOf(ctx, s.Base); err != nil {
		return out, err
	}
	last, err := s.backup.Last(ctx)
	if err != nil {
		return out, err
	}
	out.Backup.Last = app.FormatTimePtr(last.At)
	if err := s.fillCertificates(ctx, &out); err != nil {
		return out, err
	}
	if out.Needs, err = s.Findings(ctx); err != nil {
		return out, err
	}
	if out.Servers, err = s.servers(ctx); err != nil {
		return out, err
	}
	out.OK = len(out.Needs) == 0
	return out, nil
}

func (s *Service) servers(ctx context.Context) (all []Node, err error) {
	nodes, err := s.DB.Cluster().Nodes(ctx)
	for _, n := range nodes {
		all = append(all, Node{n.Address, n.Leads, app.FormatTime(n.Started), n.Silent.Milliseconds()})
	}
	return all, err
}

// sizes returns used and free space.
func (s *Service) sizes() (d Database, err error) {
	files, err := s.DB.FileSizes()
	d.Bytes, d.WALBytes, d.DiskFree = files.File, files.WAL, files.DiskFree
	return d, err
}

// FillTables sets the largest tables. It reads every page of the database.
func (s *Service) FillTables(ctx context.Context, d *Database) error {
	space, err := s.DB.Space(ctx)
	if err != nil {
		return fmt.Errorf("read the sizes of tables: %w", err)
	}
	for name, bytes := range space.Tables {
		d.Tables = append(d.Tables, Table{name, bytes})
	}
	slices.SortStableFunc(d.Tables, func(a, b Table) int { return cmp.Compare(b.Bytes, a.Bytes) })
	d.Tables = d.Tables[:min(len(d.Tables), maxTables)]
	return nil
}

// knownRelays checks relays by their last known state.
func (s *Service) knownRelays(ctx context.Context) ([]Check, error) {
	if s.Settings.Capture {
		return nil, nil
	}
	all, err := s.routing.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []Check{bad("relays", "relay_none", "")}, nil
	}
	var checks []Check
	for _, r := range all {
		c := good("relay "+r.FullName(), "%s: %s", r.Host, r.State)
		switch {
		case r.State == delivery.RelayPaused:
			c = ofRelay(&r, "relay_paused", "reason", textOf(r.Reason))
		case r.State == delivery.RelayFailing && s.target.Running: // temporary
			c = ofRelay(&r, "relay_failing", "reason", textOf(r.Reason))
		}
		checks = append(checks, c)
		if r.Failover != nil {
			checks = append(checks, ofRegion(r.Region, r.Failover)...)
		}
	}
	reports, err := s.reserveReports(ctx, all)
	return append(checks, reports...), err
}

// reserveReports checks that the providers of reserves report bounces and complaints. A reserve that
// is the primary of another region shows there whether they do.
func (s *Service) reserveReports(ctx context.Context, all []relays.Status) (checks []Check, err error) {
	regions, err := s.routing.Regions(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		r := &all[i]
		reserve := func(region relays.RegionStatus) bool { return slices.Index(region.Relays, r.FullName()) > 0 }
		primary := func(region relays.RegionStatus) bool { return region.Relays[0] == r.FullName() }
		host, _, _ := net.SplitHostPort(r.Host)
		provider := feedback.ProviderByHost(host)
		if provider.Source == "" || !slices.ContainsFunc(regions, reserve) || slices.ContainsFunc(regions, primary) {
			continue
		}
		seen, err := s.setting(ctx, base.FeedbackSetting(provider.Source))
		if err != nil {
			return nil, err
		}
		name := "relay " + r.FullName() + " reports"
		if seen == nil {
			checks = append(checks, bad(name, "relay_reports", r.FullName(), "relay", r.FullName(), "host", r.Host, "provider", provider.Name))
			continue
		}
		checks = append(checks, good(name, "%s reports bounces and complaints", provider.Name))
	}
	return checks, nil
}

// ofRegion returns what an operator should know of a region with reserves.
func ofRegion(region string, f *relays.Failover) (checks []Check) {
	name := "region " + region
	if f.Available != nil {
		checks = append(checks, bad(name, "region_available", region, "region", region, "relay", app.ShortRelay(*f.Available)))
	}
	if f.HeldUntil != nil {
		checks = append(checks, bad(name, "region_held", region, "region", region, "relay", app.ShortRelay(f.Active), "until", *f.HeldUntil))
	}
	return checks
}

// ofRelay returns a failed check of a relay.
func ofRelay(r *relays.Status, id, what, message string) Check {
	c := bad("relay "+r.FullName(), id, r.FullName(), "relay", r.FullName(), "host", r.Host, what, message)
	if r.From == relays.FromFlag && id != "relay_paused" {
		return c.ofFlags()
	}
	return c
}

func textOf(s *string) string {
	if s == nil {
		return "no reason given"
	}
	return *s
}

// knownQueue checks waiting mail.
func (s *Service) knownQueue(ctx context.Context) ([]Check, error) {
	const name = "queue"
	sum, err := s.queue.Summary(ctx, "")
	if err != nil {
		return nil, err
	}
	checks := s.judgeHeld(&sum)
	var late int64
	var first time.Time
	for _, row := range sum.By {
		if row.State == queue.Due && clock.Since(row.Oldest) > maxOldest && !s.Settings.Capture {
			late += row.Count
			first = base.Earlier(first, row.Oldest)
		}
		if row.State == queue.Relay && s.Settings.MissingRelay(row.Queue) != "" && s.Settings.RelayMode() == base.RelayConfigured {
			checks = append(checks, bad(name, "queue_no_relay", row.Relay, "relay", row.Relay, "count", strconv.FormatInt(row.Count, 10)))
		}
	}
	if late > 0 && s.target.Running {
		checks = append(checks, bad(name, "queue_late", "", "count", strconv.FormatInt(late, 10), "since", app.FormatTime(first)))
	}
	if len(checks) == 0 {
		checks = append(checks, good(name, "%d queued", sum.Waiting))
	}
	return checks, nil
}

// judgeHeld returns checks about mail that is held.
func (s *Service) judgeHeld(sum *queue.Summary) (checks []Check) {
	held := map[string]int64{}
	for _, row := range sum.By {
		if row.State == queue.Held {
			held[row.Reason] += row.Count
		}
	}
	for _, of := range []struct {
		reason app.HoldReason
		id     string
	}{{app.HoldDamaged, "queue_damaged"}, {app.HoldRestored, "queue_restored"}} {
		if n := held[string(of.reason)]; n > 0 {
			checks = append(checks, bad("queue", of.id, "", "count", strconv.FormatInt(n, 10)))
		}
	}
	return checks
}

// fewSignUps is how many sign-ups prove nothing about where others come from.
const fewSignUps = 5

// checkSignUps tells whether all sign-ups of the last day came from private addresses, as they do behind a
// proxy that the server does not know. A server that is reached by a private name has no others.
func (s *Service) checkSignUps(ctx context.Context) ([]Check, error) {
	var all, private int
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		all, private, err = r.SignUpRanges(clock.Now().Add(-24 * time.Hour))
		return err
	})
	if err != nil || all < fewSignUps || private < all {
		return nil, err
	}
	u, err := url.Parse(s.Settings.BaseURL)
	if err != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil {
		return nil, nil
	}
	return []Check{bad("sign-up", "sign_up_proxy", "", "count", strconv.Itoa(all))}, nil
}

// checkImages tells how much images take, and where those of all teams are.
func (s *Service) checkImages(ctx context.Context) ([]Check, error) {
	bytes, err := db.Get(ctx, s.DB, (*db.Reader).AllImageBytes)
	if err != nil {
		return nil, err
	}
	if s.Settings.PagesHost == "" {
		return []Check{good("images", "%s; no --pages-host", base.FormatBytes(bytes))}, nil
	}
	return []Check{good("images", "%s; served at %s", base.FormatBytes(bytes), s.Settings.PagesHost)}, nil
}

// knownDisk checks the free space.
func (s *Service) knownDisk(context.Context) ([]Check, error) {
	sizes, err := s.sizes()
	if err != nil {
		return nil, err
	}
	checks := []Check{judgeDisk(s.DB.Path(), sizes.DiskFree)}
	if sizes.WALBytes > maxWAL {
		checks = append(checks, bad("log of the database", "wal_large", "", "size", base.FormatBytes(sizes.WALBytes), "database", s.DB.Path()))
	}
	return checks, nil
}

// backupDays is the maximum age of the last backup.
const backupDays = 7

// checkBackups checks the age of the last backup, except for PostgreSQL.
func (s *Service) checkBackups(ctx context.Context) ([]Check, error) {
	const name = "backups"
	if engine.IsRemote(s.DB.Path()) {
		return nil, nil
	}
	const file = "mailer-backup.db"
	last, err := s.backup.Last(ctx)
	switch {
	case err != nil:
		return nil, err
	case last.Failure != "":
		return []Check{bad(name, "backup_failing", "", "since", app.FormatTime(last.FailedAt), "error", last.Failure, "file", file)}, nil
	case last.At.IsZero():
		return []Check{bad(name, "backup_none", "", "file", file)}, nil
	case clock.Since(last.At) > backupDays*24*time.Hour:
		return []Check{bad(name, "backup_old", "", "at", app.FormatTime(last.At), "file", file)}, nil
	}
	return []Check{good(name, "last backup: %s: %s", app.FormatTime(last.At), last.File)}, nil
}

// askRelays tests each relay up to the end of a transaction without sending.
func (s *Service) askRelays(ctx context.Context) ([]Check, error) {
	if s.Settings.Capture {
		return nil, nil
	}
	all, err := s.routing.List(ctx)
	if err != nil {
		return nil, err
	}
	checks := make([]Check, len(all))
	var g errgroup.Group
	g.SetLimit(maxRelayChecks)
	for i, r := range all {
		g.Go(func() (err error) {
			checks[i], err = s.askRelay(ctx, &r)
			return err
		})
	}
	return checks, g.Wait()
}

// maxRelayChecks is how many relays are tested at the same time, since one that is down takes
// long.
const maxRelayChecks = 8

func (s *Service) askRelay(ctx context.Context, r *relays.Status) (Check, error) {
	if r.State == delivery.RelayPaused {
		return good("relay "+r.FullName(), "%s: not tested, because it is paused", r.Host), nil
	}
	tested, err := s.routing.Test(ctx, relays.TestInput{Region: r.FullName()})
	if err != nil {
		return Check{}, err
	}
	for _, step := range tested.Steps {
		if !step.OK {
			return ofRelay(r, "relay_"+step.Step, "said", step.Reply), nil
		}
	}
	return good("relay "+r.FullName(), "%s: connected, authenticated, sender accepted", r.Host), nil
}
