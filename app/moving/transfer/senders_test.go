package transfer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/testing/testserver"
)

// claimedRecords makes a directory of a team whose domains claim to be verified: one that was, one
// that the operator trusted, and one with an invented status.
func claimedRecords(t *testing.T) string {
	t.Helper()
	w := testserver.New(t, testserver.NewRelay(nil))
	w.SQL(`DELETE FROM domains`)
	for _, name := range []string{"checked.test", "madeup.test"} {
		w.CreateDomain(app.DomainInput{Name: name})
	}
	w.CreateDomain(app.DomainInput{Name: "vouched.test", Trusted: true})
	w.SQL(`UPDATE domains SET status = 'verified'`)
	dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
	file := filepath.Join(dir, "domains.json")
	text, err := os.ReadFile(file)
	testserver.Must(t, err)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.Contains(line, "madeup") {
			lines[i] = strings.Replace(line, `"status":"verified"`, `"status":"holy"`, 1)
		}
	}
	testserver.Must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return dir
}

// domainStatuses returns the team's domains with their statuses.
func domainStatuses(w *testserver.Server) string {
	return strings.Join(w.SQL(`SELECT name || ' ' || status || ' ' || trusted FROM domains ORDER BY name`), ", ")
}

// importedDomains imports a directory of domains and returns what is reported as unmovable.
func importedDomains(t *testing.T, w *testserver.Server, dir string, o transfer.Options) string {
	t.Helper()
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	team, err := w.Services.Teams.FindTeam(t.Context(), w.Key.TeamID)
	testserver.Must(t, err)
	report, err := w.Services.Transfer.Import(t.Context(), &team, r, o)
	testserver.Must(t, err)
	var got strings.Builder
	for _, d := range report.Domains {
		fmt.Fprintf(&got, "%s %s %t %d\n", d.Name, d.Status, d.New, len(d.Records))
	}
	for _, lack := range report.Cannot {
		fmt.Fprintln(&got, lack.Item, lack.Reason)
	}
	return got.String()
}

func TestImportedDomainNeedsDNS(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dir, dns := claimedRecords(t), testserver.NewDNS()
		w := testserver.StartWithDNS(t, dns, testserver.NewRelay(testserver.Always(testserver.Accept)))
		w.SQL(`DELETE FROM domains`)
		plan := importedDomains(t, w, dir, transfer.Options{})
		got := importedDomains(t, w, dir, transfer.Options{Apply: true})
		if got != plan {
			t.Errorf("%s\nplanned %s", got, plan)
		}
		if strings.Count(got, " pending true ") != 3 || strings.Count(got, "vouched for it") != 1 || !strings.Contains(got, "`mailer domains trust vouched.test`") {
			t.Error(got)
		}
		if got := domainStatuses(w); got != "checked.test pending 0, madeup.test pending 0, vouched.test pending 0" {
			t.Error(got)
		}
		for _, name := range []string{"checked.test", "vouched.test"} {
			if _, err := w.SendFrom(name); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "not verified") {
				t.Errorf("mail of %s: %v", name, err)
			}
		}
		d, err := w.Services.Domains.DomainByName(t.Context(), w.Key.TeamID, "checked.test")
		testserver.Must(t, err)
		dns.Publish(w.Services.Domains.DomainRecords(&d))
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := domainStatuses(w); got != "checked.test verified 0, madeup.test pending 0, vouched.test pending 0" {
			t.Error(got)
		}
		_, err = w.SendFrom("checked.test")
		testserver.Must(t, err)
		again := importedDomains(t, w, dir, transfer.Options{Apply: true, Trust: true}) // existing domains are not changed
		if strings.Contains(again, " true ") || domainStatuses(w) != "checked.test verified 0, madeup.test pending 0, vouched.test pending 0" {
			t.Error(again, domainStatuses(w))
		}
	})
}

func TestTrustedArchiveKeepsDomainStatus(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		dir := claimedRecords(t)
		w := testserver.StartWithDNS(t, testserver.NewDNS(), testserver.NewRelay(testserver.Always(testserver.Accept)))
		w.SQL(`DELETE FROM domains`)
		plan := importedDomains(t, w, dir, transfer.Options{Trust: true})
		got := importedDomains(t, w, dir, transfer.Options{Apply: true, Trust: true})
		if got != plan || strings.Contains(got, "vouched for it") || strings.Count(got, " verified true ") != 2 {
			t.Errorf("%s\nplanned %s", got, plan)
		}
		if got := domainStatuses(w); got != "checked.test verified 0, madeup.test pending 0, vouched.test verified 1" {
			t.Error(got)
		}
	})
}

// TestReceivingIsCarried: an imported domain receives again only after a check has found the MX record of the new server.
func TestReceivingIsCarried(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.SQL(`DELETE FROM domains`)
		w.CreateDomain(app.DomainInput{Name: "in.test"})
		w.SQL(`UPDATE domains SET status = 'verified', receiving = 1, receives = 1, receives_at = 1`)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		for host, want := range map[string]struct{ stored, report string }{
			"":          {"0 0 0", "this server receives no mail"},
			"mail.test": {"1 0 0", "once the MX record names this server"},
		} {
			to := testserver.New(t, testserver.NewRelay(nil))
			to.SQL(`DELETE FROM domains`)
			to.Services.Settings.BounceHost = host
			got := importedDomains(t, to, dir, transfer.Options{Apply: true, Trust: true})
			if stored := to.SQL(`SELECT coalesce(receiving, 0) || ' ' || coalesce(receives, 0) || ' ' || coalesce(receives_at, 0) FROM domains`); len(stored) != 1 || stored[0] != want.stored || !strings.Contains(got, want.report) {
				t.Errorf("at %q: %q, %s", host, stored, got)
			}
		}
	})
}
