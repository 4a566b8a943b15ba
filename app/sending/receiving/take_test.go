package receiving_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/sending/receiving"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// fixture is a server with two teams: one receives for one.test, the other for two.test.
type fixture struct {
	*testserver.Server
	service *receiving.Service
	keys    [2]*app.Key
}

func newFixture(t *testing.T) *fixture {
	w := testserver.New(t)
	second, err := w.Services.Teams.CreateTeam(t.Context(), "Second")
	testserver.Must(t, err)
	f := &fixture{Server: w, service: w.Services.Receiving, keys: [2]*app.Key{w.Key, {ID: app.NewID(), TeamID: second.ID, Permission: app.FullAccess, Role: app.RoleOwner}}}
	f.service.DiskFree = func() (free, size int64, err error) { return 100 << 30, 200 << 30, nil }
	for i, name := range []string{"one.test", "two.test"} {
		f.AddDomain(f.keys[i].TeamID, name, app.DefaultRegion, app.DomainVerified)
		f.receives(name)
	}
	return f
}

// receives makes the domains with a name receive.
func (f *fixture) receives(name string) {
	f.SQL("UPDATE domains SET receiving = 1, receives = 1, receives_at = ? WHERE name = ?", clock.Now().UnixMilli(), name)
}

// deliver takes a message for addresses.
func (f *fixture) deliver(text string, to ...string) error {
	f.T.Helper()
	in := receiving.Delivery{RemoteIP: netip.MustParseAddr("192.0.2.7"), Helo: "peer.test", MailFrom: "bob@example.net", Raw: strings.NewReader(text), Size: int64(len(text))}
	for _, address := range to {
		target, err := f.service.Recipient(f.T.Context(), address)
		if err != nil {
			return err
		}
		in.To = append(in.To, target)
	}
	return f.service.Take(f.T.Context(), in)
}

// received returns the received emails of a team, newest first.
func (f *fixture) received(team int) []app.Received {
	f.T.Helper()
	rows, _, err := f.service.List(f.T.Context(), f.keys[team], app.Page{Limit: 100})
	testserver.Must(f.T, err)
	return rows
}

const text = "From: bob@example.net\r\nTo: ann@one.test\r\nSubject: hello\r\nMessage-ID: <1@example.net>\r\n\r\nHello\r\n"

func TestMessageIsStoredForEachTeamOnce(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	f := newFixture(t)
	large := text + strings.Repeat("x\r\n", app.ReceivedPiece)
	for _, message := range []string{text, large} {
		for range 2 { // the peer repeats it
			testserver.Must(t, f.deliver(message, "Ann@one.test", "x@TWO.test", "bob@one.test"))
		}
	}
	for team, recipients := range []string{"Ann@one.test bob@one.test", "x@TWO.test"} {
		rows := f.received(team)
		if len(rows) != 2 || strings.Join(rows[0].Recipients, " ") != recipients || rows[0].Size != int64(len(large)) {
			t.Fatalf("team %d: %+v", team, rows)
		}
		raw, err := f.service.Raw(t.Context(), f.keys[team].TeamID, rows[0].ID)
		if err != nil || string(raw) != large {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
		if _, err := f.service.Raw(t.Context(), f.keys[1-team].TeamID, rows[0].ID); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("the other team reads it: %v", err)
		}
	}
}

func TestDomainsThatReceive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, tt := range map[string]struct {
		sql  string
		want error
	}{
		"receives":          {"UPDATE domains SET receives = 1", nil},
		"no MX":             {"UPDATE domains SET receives = 0", receiving.ErrNotNow},
		"no MX for long":    {"UPDATE domains SET receives = 0, receives_at = 1", receiving.ErrNotHere},
		"not wanted":        {"UPDATE domains SET receiving = NULL", receiving.ErrNotHere},
		"no longer there":   {"UPDATE domains SET status = 'pending'", receiving.ErrNotNow},
		"not there at all":  {"UPDATE domains SET status = 'pending', receives = NULL, receives_at = NULL", receiving.ErrNotHere},
		"verified as usual": {"UPDATE domains SET status = 'verified'", nil},
	} {
		f.SQL("UPDATE domains SET status = 'verified'")
		f.receives("one.test")
		f.SQL(tt.sql + " WHERE name = 'one.test'")
		if _, err := f.service.Recipient(t.Context(), "ann@ONE.test"); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.SQL("UPDATE domains SET status = 'verified'")
	f.AddDomain(f.keys[1].TeamID, "one.test", app.DefaultRegion, app.DomainVerified)
	f.receives("one.test")
	if _, err := f.service.Recipient(t.Context(), "ann@one.test"); !errors.Is(err, receiving.ErrNotNow) {
		t.Errorf("verified by two teams: %v", err)
	}
	for _, address := range []string{"ann@other.test", "ann@sub.two.test", "ann", "ann@two.test.", "ann@[127.0.0.1]"} {
		if _, err := f.service.Recipient(t.Context(), address); !errors.Is(err, receiving.ErrNotHere) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestShareOfDayAndDisk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.service.DailyEmails = 2
	testserver.Must(t, f.deliver(text, "a@one.test"))
	late, err := f.service.Recipient(t.Context(), "late@one.test") // accepted before the share is used up
	testserver.Must(t, err)
	testserver.Must(t, f.deliver(text, "b@one.test"))
	if err := f.deliver(text, "c@one.test"); !errors.Is(err, receiving.ErrFull) {
		t.Errorf("a third email: %v", err)
	}
	if err := f.service.Take(t.Context(), receiving.Delivery{To: []receiving.Target{late}, Raw: strings.NewReader(text), Size: int64(len(text))}); !errors.Is(err, receiving.ErrFull) {
		t.Errorf("a third email that was begun before: %v", err)
	}
	testserver.Must(t, f.deliver(text, "c@two.test")) // another team
	f.service.DailyBytes = int64(len(text))
	if err := f.deliver(text, "d@two.test"); !errors.Is(err, receiving.ErrFull) {
		t.Errorf("more bytes: %v", err)
	}
	f.service.DailyBytes, f.service.DailyEmails = 1<<30, 100
	for _, disk := range []struct {
		free, size int64
		want       error
	}{{9, 200, receiving.ErrFull}, {9, 80, nil}, {11, 200, nil}} {
		f.service.DiskFree = func() (int64, int64, error) { return disk.free << 30, disk.size << 30, nil }
		if _, err := f.service.Recipient(t.Context(), "a@one.test"); !errors.Is(err, disk.want) {
			t.Errorf("%d of %d GB free: %v", disk.free, disk.size, err)
		}
	}
}

// TestFailureBetweenTeamsLeavesNothingHalf: the second team can't take the message. The first has it once, the second has
// nothing that can be seen, and gets it when the peer repeats the message.
func TestFailureBetweenTeamsLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := text + strings.Repeat("x\r\n", app.ReceivedPiece)
	targets := make([]receiving.Target, 2)
	for i, address := range []string{"ann@one.test", "ann@two.test"} {
		var err error
		targets[i], err = f.service.Recipient(t.Context(), address)
		testserver.Must(t, err)
	}
	take := func() error {
		return f.service.Take(t.Context(), receiving.Delivery{To: targets, Raw: strings.NewReader(large), Size: int64(len(large))})
	}
	f.SQL("INSERT INTO received_days (team_id, day, emails, bytes) VALUES (?, ?, ?, 0)", f.keys[1].TeamID, clock.Now().UTC().Format(time.DateOnly), receiving.DefaultDailyEmails)
	if err := take(); !errors.Is(err, receiving.ErrFull) {
		t.Fatal(err)
	}
	if one, two := f.received(0), f.received(1); len(one) != 1 || len(two) != 0 {
		t.Fatalf("%d and %d emails", len(one), len(two))
	}
	f.SQL("DELETE FROM received_days")
	testserver.Must(t, take())
	if one, two := f.received(0), f.received(1); len(one) != 1 || len(two) != 1 {
		t.Errorf("%d and %d emails", len(one), len(two))
	}
}

func TestMessageAboveMemoryIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Config.Memory = 100 << 20
	small := receiving.New(f.Services.Base, f.Services.Webhooks, f.Services.Audience, f.Services.MailRoutes, f.Config.Memory)
	small.Check, small.DiskFree = f.service.Check, f.service.DiskFree
	f.service = small
	testserver.Must(t, f.deliver(text, "a@one.test"))
	if err := f.deliver(text+strings.Repeat("x\r\n", 2<<20), "a@one.test"); !errors.Is(err, receiving.ErrTooLarge) {
		t.Error(err)
	}
}

// TestAnswersOfRecipients: only an authenticated answer that a person wrote to an email of the team is announced as a
// reply.
func TestAnswersOfRecipients(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	f := newFixture(t)
	f.AddContact("bob@example.net", false)
	hook := f.AddWebhook("in.test", webhook.EmailReceived, webhook.EmailReplied)
	id, err := f.Services.Mail.SendEmail(t.Context(), f.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
	testserver.Must(t, err)
	var signals []app.Signal
	f.service.OnSignal = func(_ *db.Tx, s app.Signal) error { signals = append(signals, s); return nil }
	for i, tt := range []struct {
		from, to, header string
		auth             app.ReceivedAuth
		answers, proven  bool
		replied          bool
	}{
		{"bob@example.net", "ann@one.test", "", app.ReceivedAuth{DMARC: app.AuthPass}, true, true, true},
		{"Bob <BOB@example.net>", "ann@one.test", "", app.ReceivedAuth{DKIMDomains: []string{"example.net"}}, true, true, true},
		{"bob@example.net", "ann@one.test", "Auto-Submitted: auto-replied\r\n", app.ReceivedAuth{DMARC: app.AuthPass}, true, true, false},
		{"bob@example.net", "ann@one.test", "", app.ReceivedAuth{DMARC: app.AuthFail, DKIMDomains: []string{"other.test"}}, true, false, false},
		{"eve@example.net", "ann@one.test", "", app.ReceivedAuth{DMARC: app.AuthPass}, true, false, false},
		{"bob@example.net", "x@two.test", "", app.ReceivedAuth{DMARC: app.AuthPass}, false, false, false}, // another team's email
	} {
		f.service.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return tt.auth }
		f.SQL("UPDATE contacts SET last_replied_at = NULL")
		before, events := len(signals), f.SQL("SELECT count(*) FROM webhook_events WHERE type = 'email.replied'")[0]
		testserver.Must(t, f.deliver(fmt.Sprintf("From: %s\r\nSubject: Re\r\n%sIn-Reply-To: <%s>\r\nMessage-ID: <a%d@x.test>\r\n\r\nYes\r\n", tt.from, tt.header, app.EmailMessageID(id, testserver.TestDomain), i), tt.to))
		got := f.received(btoi(tt.to == "x@two.test"))[0]
		if (got.Answers == id) != tt.answers || got.Proven != tt.proven {
			t.Errorf("%d: answers %q, proven %t", i, got.Answers, got.Proven)
		}
		announced := f.SQL("SELECT count(*) FROM webhook_events WHERE type = 'email.replied'")[0] != events
		if announced != tt.replied || (len(signals) > before) != tt.replied {
			t.Errorf("%d: announced %t, %d signals", i, announced, len(signals)-before)
		}
		if noted := f.SQL("SELECT count(*) FROM contacts WHERE last_replied_at IS NOT NULL")[0] == "1"; noted != tt.replied {
			t.Errorf("%d: noted with the contact: %t", i, noted)
		}
	}
	if s := signals[0]; s.Name != app.TriggerEmailReplied || !strings.Contains(string(s.Payload), id) {
		t.Errorf("%+v", s)
	}
	if n := f.SQL("SELECT count(*) FROM webhook_events WHERE type = 'email.received'")[0]; n != "5" {
		t.Errorf("%s received emails are announced to %s", n, hook.ID)
	}
}

// TestSpamFilter: its answer is stored. Mail is taken without an answer too.
func TestSpamFilter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var failed error
	var asked *app.SpamQuestion
	f.service.AskSpamFilter = func(_ context.Context, in *app.SpamQuestion) (*app.ReceivedSpam, error) {
		asked = in
		return &app.ReceivedSpam{Score: 7.5, Reasons: []string{"A"}, IsSpam: true}, failed
	}
	testserver.Must(t, f.deliver(text, "ann@one.test", "x@two.test"))
	if string(asked.Raw) != text || asked.RemoteIP != "192.0.2.7" || asked.Helo != "peer.test" || asked.MailFrom != "bob@example.net" || len(asked.Recipients) != 2 {
		t.Errorf("asked for %+v", asked)
	}
	for team := range f.keys {
		if got := f.received(team); len(got) != 1 || got[0].Spam == nil || got[0].Spam.Score != 7.5 || !got[0].Spam.IsSpam {
			t.Errorf("team %d: %+v", team, got)
		}
	}
	failed = errors.New("no answer")
	testserver.Must(t, f.deliver(text+"again\r\n", "ann@one.test"))
	if got := f.received(0); len(got) != 2 || got[0].Spam != nil {
		t.Errorf("%+v", got)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
