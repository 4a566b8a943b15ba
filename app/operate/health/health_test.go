package health_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/operate/health"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// find returns the check of a name and compares its result. Failed checks must have a fix, others
// must not.
func find(t *testing.T, checks []health.Check, name string, ok bool, words ...string) health.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if c.OK != ok || (c.Fix == "") != c.OK {
			t.Errorf("%s: %+v", name, c)
		}
		text := c.Found + " " + c.Fix
		if c.Finding != nil {
			text += " " + c.Finding.Command
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not say %q: %+v", name, w, c)
			}
		}
		return c
	}
	t.Errorf("there is no check %q in %+v", name, checks)
	return health.Check{}
}

func target(t *testing.T) health.Target {
	dir := t.TempDir()
	p := health.Target{Database: filepath.Join(dir, "mailer.db"), KeyFile: filepath.Join(dir, "mailer.db.key")}
	for _, file := range []string{p.Database, p.KeyFile} {
		testserver.Must(t, os.WriteFile(file, []byte("x"), 0o600))
	}
	return p
}

func TestReadableFilesAreFindings(t *testing.T) {
	p := target(t)
	for name, file := range map[string]string{"master key": p.KeyFile, "database file": p.Database} {
		testserver.Must(t, os.Chmod(file, 0o644))
		find(t, health.Machine(p, nil), name, false, "0644", "chmod 600 "+file)
		testserver.Must(t, os.Chmod(file, 0o600))
		find(t, health.Machine(p, nil), name, true)
	}
	testserver.Must(t, os.Remove(p.KeyFile))
	find(t, health.Machine(p, nil), "master key", false, p.KeyFile, "--master-key-file")
}

func TestUnreadableDatabaseIsAFinding(t *testing.T) {
	p := target(t)
	find(t, health.Machine(p, errors.New("the key is another")), "database", false, "the key is another")
	find(t, health.Machine(p, db.ErrNotFound), "database", false, "mailer serve")
	find(t, health.Machine(p, nil), "database", true, p.Database)
}

func TestMissingDirectoryIsAFinding(t *testing.T) {
	p := target(t)
	find(t, health.Machine(p, nil), "folder", true)
	p.Database = filepath.Join(t.TempDir(), "no", "mailer.db")
	find(t, health.Machine(p, nil), "folder", false, "no")
	find(t, health.Machine(p, nil), "disk", false)
}

func TestLowDiskAndDescriptorsAreFindings(t *testing.T) {
	if c := health.JudgeDisk("mailer.db", 999_000_000); c.OK || !strings.Contains(c.Found, "999.0 MB") || c.Fix == "" {
		t.Errorf("%+v", c)
	}
	if c := health.JudgeDisk("mailer.db", 2<<30); !c.OK || c.Fix != "" {
		t.Errorf("%+v", c)
	}
	if c := health.JudgeDescriptors("it", 1024); c.OK || !strings.Contains(c.Found, "1024") || !strings.Contains(c.Fix, "LimitNOFILE") {
		t.Errorf("%+v", c)
	}
	if c := health.JudgeDescriptors("it", 65536); !c.OK {
		t.Errorf("%+v", c)
	}
}

// quiet returns a server whose DNS has no records.
func quiet(t *testing.T, cfg server.Config) *testserver.Server {
	cfg.Resolver, cfg.NoRelay = testserver.NewDNS().Lookup, !cfg.Capture
	return testserver.NewWithConfig(t, cfg)
}

// look runs the doctor.
func look(w *testserver.Server) []health.Check {
	w.T.Helper()
	checks, err := w.Services.Health.WithTarget(health.Target{Database: w.Path, KeyFile: w.Path}, health.Network{}).Doctor(w.T.Context())
	testserver.Must(w.T, err)
	return checks
}

func TestClockDifferenceToDatabaseIsAFinding(t *testing.T) {
	testserver.BothEngines(t)
	p := target(t)
	defer clock.Unfollow() // tests do not run in parallel
	for _, c := range []struct {
		off  time.Duration // of the database's clock
		ok   bool
		said string
	}{
		{time.Hour, false, "differs from the database's by -1h0m0s"}, {-time.Hour, false, "differs from the database's by +1h0m0s"},
		{3 * time.Second, true, "3s behind it"}, {-3 * time.Second, true, "3s ahead of it"},
	} {
		clock.Unfollow()
		began := time.Now()
		clock.Follow(began.Add(c.off).Round(0), began, began)
		find(t, health.Machine(p, nil), "clock", c.ok, c.said)
	}
	clock.Unfollow()
	for _, c := range health.Machine(p, nil) {
		if c.Name == "clock" && (!c.OK || strings.Contains(c.Found, "database")) {
			t.Errorf("%+v", c)
		}
	}
}

func TestClockSetBackIsAFinding(t *testing.T) {
	w := quiet(t, server.Config{})
	w.LeaveClockAhead(time.Hour)
	find(t, look(w), "clock of the database", false, "timedatectl")
	w.LeaveClockAhead(0)
	for _, c := range look(w) {
		if c.Name == "clock of the database" {
			t.Errorf("%+v", c)
		}
	}
}

func TestMissingRecordsAreFindings(t *testing.T) {
	dns := testserver.NewDNS()
	w := testserver.StartWithDNS(t, dns)
	d := w.CreateDomain(app.DomainInput{Name: "news.test"})
	find(t, look(w), "domain news.test", false, "missing", "mailer domains records news.test")
	dns.Publish(w.Services.Domains.DomainRecords(&d))
	find(t, look(w), "domain news.test", false, "mailer domains verify news.test")
	if _, err := w.Services.Domains.CheckDomain(t.Context(), d.TeamID, d.Name); err != nil {
		t.Fatal(err)
	}
	find(t, look(w), "domain news.test", true)
	dns.SetDown(true)
	find(t, look(w), "domain news.test", false, "unknown")
}

func TestCaptureIsAFinding(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{Capture: true, Resolver: testserver.NewDNS().Lookup}, testserver.NewRelay(nil))
	find(t, look(w), "capture", false, "Nothing is sent", "--captured")
	find(t, look(quiet(t, server.Config{})), "capture", true)
}

func TestFailingWebhooksAreFindings(t *testing.T) {
	testserver.BothEngines(t)
	w := quiet(t, server.Config{})
	hook := w.AddWebhook("hooks.test", "email.sent")
	find(t, look(w), "webhooks", true)
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.SetFailing(w.Key.TeamID, hook.ID, tx.Now) }))
	find(t, look(w), "webhooks", false, hook.Endpoint, "failed since")
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.ClearFailing(w.Key.TeamID, hook.ID) }))
	find(t, look(w), "webhooks", true)
}

// transport answers every request.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWrongBaseURLIsAFinding(t *testing.T) {
	w := testserver.New(t) // its base URL is https
	reach := func(status int, body string, err error) []health.Check {
		answer := transport(func(*http.Request) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
		})
		return w.Services.Health.WithTarget(health.Target{Database: w.Path, Running: true}, health.Network{Transport: answer}).Reach(t.Context())
	}
	find(t, reach(200, "welcome to nginx", nil), "base URL", false, "Another server", "--base-url")
	find(t, reach(404, "", nil), "base URL", false, "404", "Host")
	find(t, reach(301, "", nil), "base URL", false, "redirect")
	find(t, reach(0, "", errors.New("no route")), "base URL", false, "no route", "DNS")
	idle := w.Services.Health.WithTarget(health.Target{Database: w.Path}, health.Network{}).Reach(t.Context())
	find(t, idle, "base URL", true, "not checked")
}

// TestReadinessIsAFinding: only the running server knows why it accepts no mail.
func TestReadinessIsAFinding(t *testing.T) {
	w := quiet(t, server.Config{})
	const words = "The disk of the server, or of its database, is full"
	at := func(status int, body string, err error) *health.Service {
		answer := transport(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/readyz") {
				return nil, errors.New("not asked here")
			}
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
		})
		return w.Services.Health.WithTarget(health.Target{Database: w.Path, KeyFile: w.Path, Running: true}, health.Network{Transport: answer})
	}
	here := func() *health.Service {
		return w.Services.Health.WithTarget(health.Target{Database: w.Path, KeyFile: w.Path, Running: true, ThisProcess: true}, at(200, "", nil).Network())
	}
	want := func(name string, s *health.Service, said string) {
		t.Helper()
		checks, err := s.Doctor(t.Context())
		testserver.Must(t, err)
		find(t, checks, "readiness", said == "", said)
		st, err := s.Status(t.Context(), "1")
		testserver.Must(t, err)
		needs := ""
		for _, n := range st.Needs {
			needs += n.What + "\n"
		}
		if takesNone := strings.Contains(needs, "does not accept mail"); takesNone != (said != "") || !strings.Contains(needs, said) {
			t.Errorf("%s: status needs %q", name, needs)
		}
	}
	want("a server that is full", at(503, `{"statusCode":503,"name":"service_unavailable","message":"`+words+`"}`, nil), words)
	want("a proxy that finds no server", at(503, "<h1>no upstream</h1>", nil), "answers 503")
	want("a server that is well", at(200, "{}", nil), "")
	want("a base URL that is not reached from here", at(0, "", errors.New("no route")), "")
	want("the server itself, well", here(), "")
	w.Services.Drain()
	want("the server itself", here(), "shutting down")
}

func TestBackupsAreCheckedForSQLiteOnly(t *testing.T) {
	testserver.BothEngines(t)
	w := quiet(t, server.Config{})
	said := false
	for _, c := range look(w) {
		said = said || c.Name == "backups"
	}
	if said == engine.IsRemote(w.DB.Path()) {
		t.Errorf("on %s: backups are checked: %t", w.DB.Path(), said)
	}
}

func TestUnreachableBounceListenerIsAFinding(t *testing.T) {
	dns := testserver.NewDNS()
	w := testserver.NewWithConfig(t, server.Config{NoRelay: true, BounceHost: "mx.test.example", Resolver: dns.Lookup})
	reach := func(greeting string, err error) []health.Check {
		dial := func(_ context.Context, _, address string) (net.Conn, error) {
			if address != "192.0.2.9:25" {
				t.Errorf("it asked at %s", address)
			}
			if err != nil {
				return nil, err
			}
			ours, theirs := net.Pipe()
			go func() {
				_, _ = io.WriteString(theirs, greeting)
				if greeting != "" {
					_, _ = bufio.NewReader(theirs).ReadString('\n') // QUIT
				}
				theirs.Close()
			}()
			return ours, nil
		}
		unreachable := transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("not asked here") })
		return w.Services.Health.WithTarget(health.Target{Database: w.Path, Running: true}, health.Network{Transport: unreachable, Dial: dial}).Reach(t.Context())
	}
	find(t, reach("", nil), "bounces", false, "no DNS address", "A or AAAA")
	dns.Publish([]app.DNSRecord{{Type: "A", Name: "mx.test.example", Value: "192.0.2.9"}})
	find(t, reach("", errors.New("refused")), "bounces", false, "refused", "port 25")
	find(t, reach("", nil), "bounces", false, "no greeting")
	find(t, reach("220 other.example ESMTP\r\n", nil), "bounces", false, "Another server")
	find(t, reach("220 mx.test.example ESMTP\r\n", nil), "bounces", true, "192.0.2.9:25")
}

// TestStatusDoctorAndHealthAgree: all three have the same findings, and a command makes the server
// check.
func TestStatusDoctorAndHealthAgree(t *testing.T) {
	testserver.BothEngines(t)
	w := quiet(t, server.Config{})
	own := w.Services.Health.WithTarget(health.Target{Database: w.Path, KeyFile: w.Path, Running: true, ThisProcess: true}, health.Network{Transport: transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })})
	cliService := w.Services.Health.WithTarget(health.Target{Database: w.Path, KeyFile: w.Path, Running: true}, health.Network{})
	asked := make(chan []health.Check)
	go func() {
		checks, ok, err := cliService.RequestRound(t.Context())
		if !ok || err != nil {
			t.Errorf("the server did not answer: %v", err)
		}
		asked <- checks
	}()
	var doctor []health.Check
	for doctor == nil {
		own.Tick(true)
		select {
		case doctor = <-asked:
		case <-time.After(time.Millisecond):
		}
	}
	find(t, doctor, "base URL", false, "no route") // which this process did not check
	round, err := own.LastRound(t.Context())
	testserver.Must(t, err)
	status, err := own.Status(t.Context(), "1")
	testserver.Must(t, err)
	cli, err := cliService.Status(t.Context(), "1")
	testserver.Must(t, err)
	ids := func(all []health.Finding) (out []string) {
		for i := range all {
			out = append(out, all[i].ID+" "+all[i].Subject)
		}
		slices.Sort(out)
		return out
	}
	of := func(checks []health.Check) (all []health.Finding) {
		for _, c := range checks {
			if c.Finding != nil {
				all = append(all, *c.Finding)
			}
		}
		return all
	}
	want := ids(of(round.Checks))
	for name, got := range map[string][]string{"doctor": ids(of(doctor)), "GET /status": ids(status.Needs), "mailer status": ids(cli.Needs)} {
		if !slices.Equal(got, want) || len(want) < 2 || (name == "GET /status" && status.OK) {
			t.Errorf("%s finds %q, the page %q", name, got, want)
		}
	}
}

// TestSentences: each sentence is complete, and its command exists.
func TestSentences(t *testing.T) {
	for _, s := range health.Sentences {
		if s.Title == "" || s.What == "" || s.Fix == "" || strings.Contains(s.Title, "{") || strings.Contains(s.What+s.Fix, "PATCH") {
			t.Errorf("%+v", s)
		}
		if first, _, _ := strings.Cut(s.Command, " "); s.Command != "" && !slices.Contains([]string{"mailer", "systemctl", "chmod", "ls", "lsof", "timedatectl", "journalctl", "curl"}, first) {
			t.Errorf("%s: %q is no command", s.ID, s.Command)
		}
	}
}

func TestReportRecordIsMissing(t *testing.T) {
	dns := testserver.NewDNS()
	w := testserver.NewWithConfig(t, server.Config{NoRelay: true, BounceHost: "mx.host.example", Resolver: dns.Lookup})
	look := func() []health.Check {
		checks, err := w.Services.Health.ReportRecord(t.Context())
		testserver.Must(t, err)
		return checks
	}
	w.SQL("UPDATE domains SET name = 'in.host.example'")
	find(t, look(), "reports", true, "no domain needs")
	w.SQL("UPDATE domains SET name = 'other.example', status = 'verified'")
	find(t, look(), "reports", false, "other.example", "*._report._dmarc.mx.host.example")
	dns.Publish([]app.DNSRecord{{Type: "TXT", Name: "other.example._report._dmarc.mx.host.example", Value: "v=DMARC1;"}})
	find(t, look(), "reports", true, "mx.host.example")
}
