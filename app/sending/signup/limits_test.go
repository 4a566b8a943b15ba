package signup_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/sending/queue"
	"mailer/app/sending/signup"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestOneAddressGetsFewConfirmations: by team, over all teams, and after a restart.
func TestOneAddressGetsFewConfirmations(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{PagesHost: pagesHost}, testserver.NewRelay(nil))
		w.Start()
		const victim = "victim@example.net"
		f := addForm(w, w.Key, nil)
		n := 0
		try := func(f app.Form) {
			n++
			signUp(w, f, victim, n)
		}
		want := func(mails int, when string) {
			t.Helper()
			if got := len(mailsTo(w, victim)); got != mails {
				t.Errorf("%s: %d confirmations, want %d", when, got, mails)
			}
		}
		try(f)
		try(f)
		want(1, "twice in ten minutes")
		time.Sleep(10 * time.Minute)
		try(addForm(w, w.Key, nil))
		want(2, "ten minutes later by another form of the team")
		time.Sleep(10 * time.Minute)
		try(f)
		time.Sleep(10 * time.Minute)
		try(f)
		want(3, "four in a day")
		var teams []app.Form
		for i := range 4 {
			domain := fmt.Sprintf("t%d.example", i)
			key := w.AddTeam(fmt.Sprint("Team ", i), domain)
			teams = append(teams, addForm(w, key, func(in *app.FormInput) { in.From = "a@" + domain }))
			try(teams[i])
		}
		want(6, "by other teams on the same day")
		w.StopFor(time.Minute)
		try(teams[3])
		want(6, "after a restart")
		for _, o := range optIns(w, w.Key) {
			if o.Status != app.OptInPending {
				t.Errorf("the team sees %s", o.Status)
			}
		}
		time.Sleep(24 * time.Hour)
		try(teams[3])
		want(7, "on the next day")
	})
}

// TestDecisionResetsTheCountOfTheTeam: confirming does; refusing stops the team for a year.
func TestDecisionResetsTheCountOfTheTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, nil)
		const who = "bob@example.net"
		signUp(w, f, who, 1)
		page, err := w.Services.SignUp.Confirm(t.Context(), pagesHost, linkIn(w, mailsTo(w, who)[0]), &signup.Decision{})
		if err != nil || page.Status != app.OptInConfirmed {
			t.Fatalf("%+v, %v", page, err)
		}
		signUp(w, f, who, 2)
		mails := mailsTo(w, who)
		if len(mails) != 2 {
			t.Fatalf("%d confirmations", len(mails))
		}
		for range 2 {
			page, err = w.Services.SignUp.Refuse(t.Context(), pagesHost, linkIn(w, mails[1]), app.Visitor{})
			if err != nil || page.Status != app.OptInRefused {
				t.Errorf("%+v, %v", page, err)
			}
		}
		if page, err = w.Services.SignUp.Confirm(t.Context(), pagesHost, linkIn(w, mails[1]), &signup.Decision{}); err != nil || page.Status != app.OptInRefused {
			t.Errorf("confirmed after a refusal: %+v, %v", page, err)
		}
		signUp(w, f, who, 3)
		if n := len(mailsTo(w, who)); n != 2 {
			t.Errorf("%d confirmations after a refusal", n)
		}
		if got := optIns(w, w.Key)[0]; got.Status != app.OptInPending {
			t.Errorf("the repeated request is %s", got.Status)
		}
		_, err = w.Services.SignUp.StartOptIn(t.Context(), w.Key, app.SignUpInput{Email: who})
		if app.CodeOf(err) != app.CodeConflict {
			t.Errorf("by API: %v", err)
		}
		form, err := w.Services.SignUp.GetForm(t.Context(), w.Key, f.ID)
		if err != nil || form.Refused != 1 || form.Confirmed != 1 || form.Requested != 3 {
			t.Errorf("%+v, %v", form, err)
		}
	})
}

// TestSuppressedAddressesGetNothing, and neither the visitor nor the team can tell.
func TestSuppressedAddressesGetNothing(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, nil)
		for i, origin := range []app.SuppressionOrigin{app.OriginBounce, app.OriginComplaint, app.OriginManual, app.OriginUnsubscribe} {
			email := string(origin) + "@example.net"
			_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: email, Origin: origin})
			testserver.Must(t, err)
			signUp(w, f, email, i)
			want := 0
			if origin == app.OriginUnsubscribe {
				want = 1
			}
			if got := len(mailsTo(w, email)); got != want {
				t.Errorf("%s: %d confirmations", origin, got)
			}
			if got := optIns(w, w.Key)[0]; got.Email != email || got.Status != app.OptInPending {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestConfirmationsAreHiddenFromTheTeam in lists, search, queue, webhooks, usage and statistics, also if one
// bounces.
func TestConfirmationsAreHiddenFromTheTeam(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.Accept)))
		w.AddWebhook("mail", "email.sent", "email.bounced", "email.delivered", "suppression.added")
		c := w.AddContact("bob@example.net", false)
		f := addForm(w, w.Key, nil)
		before := w.WebhookEvents()
		signUp(w, f, "bob@example.net", 1)
		ids := w.SQL(`SELECT email_id FROM opt_ins`)
		if len(ids) != 1 || len(mailsTo(w, "bob@example.net")) != 1 {
			t.Fatalf("ids %v", ids)
		}
		w.Report(feedback.Report{ID: "1", Kind: feedback.Complained, EmailID: ids[0], Recipient: "bob@example.net"})
		synctest.Wait()
		emails, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 10})
		if err != nil || len(emails) != 0 {
			t.Errorf("listed: %+v, %v", emails, err)
		}
		if _, err := w.Services.Mail.GetEmail(t.Context(), w.Key, ids[0]); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("GetEmail: %v", err)
		}
		if _, _, err := w.Services.Mail.ListEvents(t.Context(), w.Key, ids[0], app.Page{Limit: 10}); app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("ListEvents: %v", err)
		}
		history, err := w.Services.Previews.ContactHistory(t.Context(), w.Key, c.ID, app.Page{Limit: 10})
		if err != nil || len(history.Mail) != 0 {
			t.Errorf("history: %+v, %v", history, err)
		}
		now, err := w.Services.Audience.GetContact(t.Context(), w.Key, c.ID)
		if err != nil || !now.LastSentAt.IsZero() {
			t.Errorf("%+v, %v", now, err)
		}
		if rows := w.SQL(`SELECT hour FROM mail_counts`); len(rows) != 0 {
			t.Errorf("counted: %v", rows)
		}
		if rows := w.SQL(`SELECT recipients FROM team_days`); len(rows) != 0 {
			t.Errorf("usage: %v", rows)
		}
		list, _, err := w.Services.Suppressions.ListSuppressions(t.Context(), w.Key, "", app.Page{Limit: 10})
		if err != nil || len(list) != 0 || len(w.SQL(`SELECT id FROM suppressions`)) != 1 {
			t.Errorf("suppressions: %+v, %v", list, err)
		}
		if added := strings.TrimPrefix(w.WebhookEvents(), before); strings.Count(added, `"type"`) != 1 || !strings.Contains(added, "contact.opt_in_requested") {
			t.Errorf("webhooks: %s", added)
		}
	})
}

// TestFormSendsSixtyAnHour, fairly among ranges; what waits a day expires, and the owner hears of it once.
func TestFormSendsSixtyAnHour(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, func(in *app.FormInput) { in.MaxPerDay = 80 })
		ask := func(n, from int) {
			press(w, signup.Submission{FormID: f.ID, Email: fmt.Sprintf("bot%d@example.net", n), Client: client(from)})
		}
		for n := range 75 { // of fifteen ranges
			ask(n, n%15)
		}
		time.Sleep(time.Minute)
		sent := func() string { return w.SQL(`SELECT count(*) FROM opt_ins WHERE mail = 'sent'`)[0] }
		if got := sent(); got != "60" {
			t.Errorf("%s in the first hour", got)
		}
		if rows := w.SQL(`SELECT count(*) FROM confirmations GROUP BY ip_range`); len(rows) != 15 || strings.Trim(strings.Join(rows, " "), "4 ") != "" {
			t.Errorf("by range: %v", rows)
		}
		ask(1000, 77)
		time.Sleep(time.Hour)
		if got := sent(); got != "76" || len(mailsTo(w, "bot1000@example.net")) != 1 {
			t.Errorf("%s in two hours", got)
		}
		for n := range 10 {
			ask(100+n, 20+n)
		}
		time.Sleep(22 * time.Hour)
		if got := sent(); got != "80" {
			t.Errorf("%s in a day", got)
		}
		if n := strings.Count(w.WebhookEvents(), "form.limited {"); n != 1 {
			t.Errorf("%d alerts", n)
		}
		w.SQL(`UPDATE confirmations SET sent_at = sent_at + 86400000`) // as if the limits stayed used
		time.Sleep(3 * time.Hour)
		if got := w.SQL(`SELECT count(*) FROM opt_ins WHERE status = 'expired' AND mail = 'none'`)[0]; got != "6" {
			t.Errorf("%s expired", got)
		}
	})
}

func TestPassesCountOnce(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f, other := addForm(w, w.Key, nil), addForm(w, w.Key, nil)
		submit := func(in signup.Submission) bool {
			t.Helper()
			in.FormID, in.Client = f.ID, client(1)
			if in.Email == "" {
				in.Email = "bob@example.net"
			}
			out, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &in)
			testserver.Must(t, err)
			return out.Button == ""
		}
		good := proof(w, pagesHost, f)
		late := proof(w, pagesHost, f)
		page, err := w.Services.SignUp.FormPage(t.Context(), pagesHost, f.ID)
		testserver.Must(t, err)
		token, _, _ := strings.Cut(good, ".")
		first, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &signup.Submission{FormID: f.ID, Email: "bob@example.net"})
		testserver.Must(t, err)
		for name, in := range map[string]signup.Submission{
			"nothing":                {},
			"another form's proof":   {Proof: proof(w, pagesHost, other)},
			"no work":                {Proof: token + ".1"},
			"trap":                   {Proof: good, Trap: "x"},
			"too fast":               {Proof: good, Opened: page.Opened},
			"forged time":            {Proof: good, Opened: "x"},
			"a button pressed early": {Button: first.Button},
			"a proof as a button":    {Button: token},
		} {
			if submit(in) {
				t.Errorf("%s passed", name)
			}
		}
		time.Sleep(5 * time.Second)
		if !submit(signup.Submission{Proof: good, Opened: page.Opened}) || submit(signup.Submission{Proof: good}) {
			t.Error("a proof does not count once")
		}
		if !submit(signup.Submission{Button: first.Button}) || submit(signup.Submission{Button: first.Button}) {
			t.Error("a button does not count once")
		}
		w.StopFor(time.Second)
		if submit(signup.Submission{Proof: good}) {
			t.Error("a proof counts again after a restart")
		}
		time.Sleep(11 * time.Minute)
		if submit(signup.Submission{Proof: late}) {
			t.Error("an old proof passed")
		}
		if n := len(optIns(w, w.Key)); n != 2 {
			t.Errorf("%d opt-ins", n)
		}
		concurrent := proof(w, pagesHost, f)
		var mu sync.Mutex
		var group sync.WaitGroup
		passed := 0
		for n := range 8 {
			group.Go(func() {
				if submit(signup.Submission{Proof: concurrent, Email: fmt.Sprintf("c%d@example.net", n)}) {
					mu.Lock()
					passed++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if passed != 1 {
			t.Errorf("a proof passed %d times at the same time", passed)
		}
	})
}

// TestKillBetweenSteps: no step that fails loses an opt-in or sends a confirmation twice.
func TestKillBetweenSteps(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		f := addForm(w, w.Key, nil)
		signUp(w, f, "bob@example.net", 1)
		next := w.Crash(testserver.NewRelay(nil))
		next.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := next.SQL(`SELECT count(*) FROM emails WHERE for_opt_in IS NOT NULL`)[0]; n != "1" {
			t.Errorf("%s confirmations after a crash", n)
		}
		token := linkIn(w, mailsTo(w, "bob@example.net")[0])
		page, err := next.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{})
		if err != nil || page.Status != app.OptInConfirmed {
			t.Errorf("%+v, %v", page, err)
		}
		last := next.Crash(testserver.NewRelay(nil))
		if page, err = last.Services.SignUp.OptInPage(t.Context(), pagesHost, token); err != nil || page.Status != app.OptInConfirmed {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// TestRestoreHoldsDueConfirmations until they are released.
func TestRestoreHoldsDueConfirmations(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil)) // not started: nothing is sent
		f := addForm(w, w.Key, nil)
		signUp(w, f, "bob@example.net", 1)
		w.WriteDB(func(tx *db.Tx) error {
			n, err := tx.HoldDueOptIns()
			if n != 1 {
				t.Errorf("%d held", n)
			}
			return err
		})
		w.Start()
		time.Sleep(time.Minute)
		if n := len(mailsTo(w, "bob@example.net")); n != 0 {
			t.Errorf("%d confirmations while held", n)
		}
		res, err := w.Services.Queue.Release(t.Context(), queue.Filter{Restored: true})
		if err != nil || res.Changed != 1 {
			t.Errorf("%+v, %v", res, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(mailsTo(w, "bob@example.net")); n != 1 {
			t.Errorf("%d confirmations after the release", n)
		}
	})
}

// TestPausedTeamsSendNothing: the page is the same, and what was asked for waits.
func TestPausedTeamsSendNothing(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, nil)
		team, err := w.Services.Teams.FindTeam(t.Context(), "")
		testserver.Must(t, err)
		_, err = w.Services.Teams.SuspendTeam(t.Context(), team.ID, "")
		testserver.Must(t, err)
		signUp(w, f, "bob@example.net", 1)
		if n := len(optIns(w, w.Key)); n != 0 {
			t.Errorf("%d opt-ins of a suspended team", n)
		}
	})
}

func TestOldOptInsGo(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{Retention: app.Retention{OptIns: 8 * 24 * time.Hour}}, testserver.NewRelay(nil))
		w.Start()
		f := addForm(w, w.Key, nil)
		signUp(w, f, "bob@example.net", 1)
		signUp(w, f, "eve@example.net", 2)
		token := linkIn(w, mailsTo(w, "bob@example.net")[0])
		late := linkIn(w, mailsTo(w, "eve@example.net")[0])
		_, err := w.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{})
		testserver.Must(t, err)
		time.Sleep(7*24*time.Hour + time.Hour)
		page, err := w.Services.SignUp.Confirm(t.Context(), pagesHost, late, &signup.Decision{})
		if err != nil || page.Status != app.OptInExpired || w.CountContacts() != 1 {
			t.Errorf("%+v, %v", page, err)
		}
		w.SQL(`UPDATE confirmations SET sent_at = sent_at - 1987200000`) // 23 days
		time.Sleep(26 * time.Hour)
		rows := optIns(w, w.Key)
		if len(rows) != 1 || rows[0].Status != app.OptInConfirmed || rows[0].Request.FormName != "" {
			t.Errorf("%+v", rows)
		}
		if n := w.Count("confirmations"); n != "0" {
			t.Errorf("%s confirmations are kept", n)
		}
		c, err := w.Services.Audience.GetContact(t.Context(), w.Key, "bob@example.net")
		testserver.Must(t, err)
		consents, _, err := w.Services.SignUp.ListConsents(t.Context(), w.Key, c.ID, app.Page{Limit: 10})
		if err != nil || len(consents) != 1 {
			t.Errorf("%+v, %v", consents, err)
		}
		_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, c.ID, true)
		testserver.Must(t, err)
		if w.Count("consents") != "0" || w.Count("opt_ins") != "0" {
			t.Error("an erasure leaves a consent or an opt-in")
		}
	})
}

// TestStepsAreOneWrite: a step that fails takes back those before it, and is repeated as a whole.
func TestStepsAreOneWrite(t *testing.T) {
	testserver.SQLiteOnly(t) // triggers are written otherwise on PostgreSQL
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		f := addForm(w, w.Key, nil)
		failOn := func(event string, do func()) {
			t.Helper()
			w.SQL(`CREATE TRIGGER failing BEFORE ` + event + ` BEGIN SELECT RAISE(ABORT, 'made to fail'); END`)
			do()
			w.SQL(`DROP TRIGGER failing`)
		}
		pass := proof(w, pagesHost, f)
		in := signup.Submission{FormID: f.ID, Email: "bob@example.net", Client: client(1), Proof: pass}
		failOn(`INSERT ON opt_ins`, func() {
			if out, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &in); err == nil {
				t.Errorf("submitted: %+v", out)
			}
		})
		for _, event := range []string{`INSERT ON confirmations`, `UPDATE OF mail ON opt_ins`, `INSERT ON units`} {
			failOn(event, func() {
				if w.Count("opt_ins") == "0" {
					out, err := w.Services.SignUp.Submit(t.Context(), pagesHost, &in) // the proof was not used up
					if err != nil || out.Button != "" {
						t.Errorf("%+v, %v", out, err)
					}
				}
				time.Sleep(10 * time.Second)
				if w.Count("emails") != "0" || w.Count("confirmations") != "0" {
					t.Errorf("%s: %s emails, %s confirmations", event, w.Count("emails"), w.Count("confirmations"))
				}
			})
		}
		time.Sleep(10 * time.Second)
		mails := mailsTo(w, "bob@example.net")
		if len(mails) != 1 || w.Count("confirmations") != "1" {
			t.Fatalf("%d mails, %s confirmations", len(mails), w.Count("confirmations"))
		}
		token := linkIn(w, mails[0])
		for _, event := range []string{`INSERT ON consents`, `INSERT ON contacts`, `UPDATE OF status ON opt_ins`} {
			failOn(event, func() {
				if page, err := w.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{}); err == nil {
					t.Errorf("%s: confirmed: %+v", event, page)
				}
				if w.CountContacts() != 0 || w.Count("consents") != "0" {
					t.Errorf("%s: %d contacts", event, w.CountContacts())
				}
			})
		}
		page, err := w.Services.SignUp.Confirm(t.Context(), pagesHost, token, &signup.Decision{})
		if err != nil || page.Status != app.OptInConfirmed || w.CountContacts() != 1 || w.Count("consents") != "1" {
			t.Errorf("%+v, %v", page, err)
		}
	})
}
