package mail_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestAttemptsSendSameTrackedBytes(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageData, 451, "later"), testserver.ReplyWith(app.StageDot, 451, "later")))
		w := testserver.StartTracking(t, relay)
		const html = `<body><a href="https://a.test/0">x</a></body>`
		id := sendHTML(w, html, "bo@example.org")
		w.SetTracking(app.Domain{}) // accepted mail keeps its tracking
		testserver.SleepAndSettle(time.Hour)
		tries := relay.Transactions(id)
		if len(tries) != 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		first := tries[0].Message.Mail.HTML
		if !strings.Contains(first, testserver.TrackBase+"/t/c/") || !strings.Contains(first, testserver.TrackBase+"/t/o/") || strings.Contains(first, "a.test") {
			t.Errorf("the html left as %s", first)
		}
		for _, try := range tries[1:] {
			if try.Message.Mail.HTML != first {
				t.Errorf("another attempt has the html %s", try.Message.Mail.HTML)
			}
		}
		if got := w.Email(id); got.HTML != html {
			t.Errorf("read back as %s", got.HTML)
		}
	})
}

func TestTrackingFollowsDomainSettings(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		live := []app.RecordCheck{{Record: app.RecordTracking, Name: "links." + testserver.TestDomain, Type: "CNAME", Live: app.LiveFound}}
		for _, c := range []struct {
			name   string
			domain app.Domain
			html   string
			want   *app.Tracking
		}{
			{"both", app.Domain{OpenTracking: true, ClickTracking: true}, testserver.Links(1), &app.Tracking{Base: testserver.TrackBase, Open: true, Click: true}},
			{"opens", app.Domain{OpenTracking: true}, testserver.Links(1), &app.Tracking{Base: testserver.TrackBase, Open: true}},
			{"no html", app.Domain{OpenTracking: true}, "", nil},
			{"nothing", app.Domain{TrackingSubdomain: "links", Checks: live}, testserver.Links(1), nil},
			{"a host of its own", app.Domain{ClickTracking: true, TrackingSubdomain: "links", Checks: live}, testserver.Links(1),
				&app.Tracking{Base: "https://links." + testserver.TestDomain, Click: true, Pages: testserver.TrackBase}},
		} {
			w.SetTracking(c.domain)
			got := w.Email(sendHTML(w, c.html, "bo@example.org")).Tracking
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	})
}

// A command has no base URL of its own.
func TestCommandTracksToServersAddress(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		var err error
		w.Services, err = server.New(t.Context(), server.Config{DB: w.DB, Sealer: w.Config.Sealer})
		testserver.Must(t, err)
		if got := w.Email(sendHTML(w, testserver.Links(1), "bo@example.org")).Tracking; got == nil || got.Base != testserver.TrackBase {
			t.Errorf("tracked at %+v", got)
		}
	})
}

func TestHostedPageLinksAreNotTracked(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.StartTracking(t, relay)
		id := sendHTML(w, `<a href="{{{UNSUBSCRIBE_URL}}}">off</a>`+testserver.Links(1), "bo@example.org")
		page := w.Email(id).Unsubscribe
		if got := relay.Transactions(id)[0].Message.Mail.HTML; page == "" || !strings.Contains(got, `<a href="`+page+`">off</a><a href="`+testserver.TrackBase+`/t/c/`) {
			t.Errorf("the html left as %s", got)
		}
	})
}

func TestOpensAndClicksAreRecorded(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		w.LoadPixel(id, testserver.Chrome)
		synctest.Wait()
		w.WantTrackingEvents(id, "", app.Sent) // the hit waits for others
		opened := time.Now()
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "opened", app.Opened)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "opened clicked1", app.Clicked)
		open, click := w.OnlyEvent(id, app.EventType(app.Opened)), w.OnlyEvent(id, app.EventType(app.Clicked))
		if !open.CreatedAt.Equal(opened) || open.Recipient != "bo@example.org" || open.Detail.Link != "" || open.Detail.IPAddress != "192.0.2.1" || open.Detail.UserAgent != testserver.Chrome {
			t.Errorf("opened %+v", open)
		}
		if click.Detail.Link != "https://a.test/1" || click.Recipient != "bo@example.org" || click.Detail.Message == "" {
			t.Errorf("clicked %+v", click)
		}
		w.LoadPixel(id, testserver.Chrome)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.SleepAndSettle(time.Minute)
		w.LoadPixel(id, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "opened clicked1 opened", app.Clicked) // once within a minute; last_event by rank
	})
}

func TestOpensOfSharedEmailNameNoRecipient(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org", "cy@example.org")
		testserver.SleepAndSettle(time.Minute)
		w.LoadPixel(id, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		if ev := w.OnlyEvent(id, app.EventType(app.Opened)); ev.Recipient != "" {
			t.Errorf("opened by %s", ev.Recipient)
		}
	})
}

func TestOnlyLinkIsJudgedImmediately(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		w.Click(id, 0, 1, testserver.Chrome)
		synctest.Wait()
		w.WantTrackingEvents(id, "clicked0", app.Clicked)
		for range 5 {
			w.Click(id, 0, 1, testserver.Chrome)
		}
		synctest.Wait()
		w.WantTrackingEvents(id, "clicked0", app.Clicked)
	})
}

func TestScannerFetchesArePrefetched(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		soon := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(9 * time.Second)
		w.LoadPixel(soon, testserver.Chrome)
		w.Click(soon, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(soon, "prefetched prefetched0", app.Sent)
		w.Click(soon, 0, 1, testserver.Chrome) // a reader after the scanner
		testserver.SleepAndSettle(time.Second)
		w.WantTrackingEvents(soon, "prefetched prefetched0 clicked0", app.Clicked)

		proxied := sendHTML(w, testserver.Links(2), "bo@example.org")
		testserver.SleepAndSettle(time.Hour)
		w.LoadPixel(proxied, testserver.ImageProxy)
		w.Click(proxied, 0, 2, "")
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(proxied, "prefetched prefetched0", app.Sent)
	})
}

func TestFetchBeforeAcceptanceIsPrefetched(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t, testserver.NewRelay(testserver.Always(testserver.ReplyWith(app.StageData, 451, "later"))))
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Second)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Second)
		w.WantTrackingEvents(id, "prefetched0", app.Queued)
	})
}

// The relay may have accepted the mail.
func TestOpenOfMailInDoubt(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t, testserver.NewRelay(testserver.Always(testserver.LoseReply)))
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(30 * time.Second)
		w.Click(id, 0, 1, testserver.Chrome)
		synctest.Wait()
		w.WantTrackingEvents(id, "clicked0", app.Clicked)
	})
}

func TestBurstOverAllLinksIsPrefetched(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.SleepAndSettle(time.Hour)
		w.LoadPixel(id, testserver.Chrome)
		for i := range 3 {
			w.Click(id, i, 3, testserver.Chrome)
			testserver.SleepAndSettle(2 * time.Second)
		}
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "prefetched prefetched0 prefetched1 prefetched2", app.Sent)
		testserver.SleepAndSettle(time.Hour)
		w.Click(id, 0, 3, testserver.Chrome)
		w.Click(id, 2, 3, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "prefetched prefetched0 prefetched1 prefetched2 clicked0 clicked2", app.Clicked)
	})
}

// The link that the reader followed belongs to the burst.
func TestBurstAfterReaderIsPrefetched(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.SleepAndSettle(time.Hour)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.SleepAndSettle(20 * time.Second)
		for i := range 3 {
			w.Click(id, i, 3, testserver.Chrome)
			testserver.SleepAndSettle(time.Millisecond) // keeps the order of the events
		}
		testserver.SleepAndSettle(4 * time.Second)
		w.WantTrackingEvents(id, "clicked1 prefetched0 prefetched1 prefetched2", app.Clicked)
	})
}

func TestLinkWaitsTwelveSecondsAtMost(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(30), "bo@example.org")
		testserver.SleepAndSettle(time.Hour)
		for i := range 6 {
			w.Click(id, i, 30, testserver.Chrome)
			testserver.SleepAndSettle(1900 * time.Millisecond)
			if got := w.TrackingEvents(id); got != "" {
				t.Fatalf("recorded %q after the click at %d s", got, 2*i)
			}
			testserver.SleepAndSettle(100 * time.Millisecond)
		}
		testserver.SleepAndSettle(mail.JudgeEvery)
		w.WantTrackingEvents(id, "clicked0 clicked1 clicked2 clicked3 clicked4 clicked5", app.Clicked)
	})
}

func TestShutdownJudgesWaitingHits(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id, burst := sendHTML(w, testserver.Links(3), "bo@example.org"), sendHTML(w, testserver.Links(2), "cy@example.org")
		testserver.SleepAndSettle(time.Minute)
		w.Click(id, 0, 3, testserver.Chrome)
		w.Click(burst, 0, 2, testserver.Chrome)
		w.Click(burst, 1, 2, testserver.Chrome)
		w.Stop()
		w.Open()
		w.WantTrackingEvents(id, "clicked0", app.Clicked)
		w.WantTrackingEvents(burst, "prefetched0 prefetched1", app.Sent)
	})
}

func TestShutdownJudgesQueuedHits(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		w.Services.StopClaiming()
		w.Services.Workers.Wait()
		for i := range 20 { // select chooses its case at random
			w.LoadPixel(id, testserver.Chrome)
			w.Services.Mail.Track()
			if got := strings.Count(w.TrackingEvents(id), "opened"); got != i+1 {
				t.Fatalf("%d of %d opens are recorded", got, i+1)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestTimelineKeepsHundredFetches(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		for range tracking.MaxPrefetchEvents + 5 {
			w.LoadPixel(id, testserver.ImageProxy)
			testserver.SleepAndSettle(2 * time.Minute)
		}
		for range tracking.MaxHitEvents {
			w.LoadPixel(id, testserver.Chrome)
			testserver.SleepAndSettle(2 * time.Minute)
		}
		w.WantLastEvent(id, app.Opened)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Second)
		w.WantLastEvent(id, app.Clicked)
		var events []app.Event
		w.Read(func(r *db.Reader) (err error) {
			events, err = r.Events(id)
			return err
		})
		count := func(kind app.EventType) int {
			return len(slices.DeleteFunc(slices.Clone(events), func(ev app.Event) bool { return ev.Type != kind }))
		}
		if p, o, c := count(app.EventPrefetched), count(app.EventType(app.Opened)), count(app.EventType(app.Clicked)); p != 50 || o != 50 || c != 0 {
			t.Errorf("%d prefetches, %d opens, %d clicks", p, o, c)
		}
	})
}

func TestLinksOfDeletedEmailRedirect(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id, other := sendHTML(w, testserver.Links(1), "bo@example.org"), sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
		w.Click(id, 0, 1, testserver.Chrome)
		w.Click(other, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Second)
		w.WantTrackingEvents(other, "clicked0", app.Clicked) // the deleted email does not affect others
		if w.Log.Contains("not counted") {
			t.Error("a deleted email is an error in the log")
		}
	})
}

func TestForeignTrackingTokens(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		for _, token := range []string{"", "x", tracking.OpenToken(w.Services.Sealer, id)} {
			if got, ok := w.Services.Mail.FollowLink(t.Context(), "mail.test", token, nil); ok || got.Location != "" {
				t.Errorf("%q leads to %q", token, got.Location)
			}
		}
		if w.Services.Mail.NoteOpen("x", nil) {
			t.Error("a made-up pixel is known")
		}
	})
}

func TestUncountedFetchesAreNotRecorded(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Minute)
		if !w.Services.Mail.NoteOpen(tracking.OpenToken(w.Services.Sealer, id), nil) {
			t.Error("the pixel is unknown")
		}
		token := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/ü"})
		if got, ok := w.Services.Mail.FollowLink(t.Context(), "mail.test", token, nil); !ok || got.Location != "https://a.test/%C3%BC" || got.Orphaned {
			t.Errorf("leads to %+v, %v", got, ok)
		}
		testserver.SleepAndSettle(time.Minute)
		w.WantTrackingEvents(id, "", app.Sent)
	})
}

func TestDroppedFetchesAreLogged(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil)) // nothing reads the queue
		token := tracking.OpenToken(w.Services.Sealer, app.NewID())
		for range mail.TrackQueue {
			w.Services.Mail.NoteOpen(token, &tracking.Visitor{})
		}
		if w.Log.Contains("not counted") {
			t.Fatal("dropped while there is room")
		}
		if !w.Services.Mail.NoteOpen(token, &tracking.Visitor{}) || !w.Log.Contains("some are not counted") {
			t.Error("a full queue is not told, or holds up the answer")
		}
	})
}

func TestClickAddsNoRelayTrouble(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.StartTracking(t, relay)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.SleepAndSettle(time.Hour)
		relay.SetScript(testserver.InOrder(testserver.RelayTrouble(app.StageConnect, "down")))
		w.Send("cy@example.org") // fails, an hour after the first email was sent
		testserver.SleepAndSettle(time.Hour)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.SleepAndSettle(time.Second)
		for _, ev := range w.Events(id) {
			if ev.Type == app.EventRelayTrouble {
				t.Errorf("a trouble after it left: %s", ev.Detail.Message)
			}
		}
	})
}

func TestOrphanedEmailLinks(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		other := w.AddTeam("Other", "other.example")
		first, second := sendHTML(w, testserver.Links(1), "bo@example.org"), sendHTML(w, testserver.Links(1), "bo@example.org")
		follow := func(team, id string) tracking.Destination {
			t.Helper()
			token := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: team, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
			got, ok := w.Services.Mail.FollowLink(t.Context(), "mail.test:443", token, &tracking.Visitor{})
			if !ok || got.Location != "https://a.test/0" {
				t.Errorf("%+v, %v", got, ok)
			}
			return got
		}
		testserver.SleepAndSettle(time.Minute)
		if follow(w.Key.TeamID, first).Orphaned || follow(w.Key.TeamID, second).Orphaned {
			t.Error("a link of mail that is there does not lead on")
		}
		if !follow(other.TeamID, app.NewID()).Orphaned {
			t.Error("a link of mail that never was leads on")
		}
		testserver.Must(t, w.DeleteEmail(first))
		testserver.SleepAndSettle(time.Second)
		if !follow(w.Key.TeamID, first).Orphaned || follow(w.Key.TeamID, second).Orphaned {
			t.Error("the deletion of an email ends other links than its own")
		}
		if !follow(other.TeamID, second).Orphaned {
			t.Error("mail of one team answers for a link of another")
		}
		d, err := w.Services.Domains.DomainByName(t.Context(), w.Key.TeamID, testserver.TestDomain)
		testserver.Must(t, err)
		testserver.Must(t, w.Services.Domains.DeleteDomain(t.Context(), w.Key, d.ID))
		testserver.SleepAndSettle(time.Second)
		if !follow(w.Key.TeamID, second).Orphaned {
			t.Error("a link leads on whose domain was deleted")
		}
	})
}

func TestOrphanedBroadcastLinks(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		w.AddSubscribers(2)
		b := w.SendNewsletter(testserver.Links(1), nil)
		testserver.SleepAndSettle(time.Minute)
		id := w.EmailIDTo(b, testserver.SubscriberAddress(0))
		token := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
		orphaned := func() bool {
			got, ok := w.Services.Mail.FollowLink(t.Context(), "mail.test", token, nil)
			return !ok || got.Orphaned
		}
		if orphaned() {
			t.Error("a link of a broadcast does not lead on")
		}
		w.SQL(`DELETE FROM broadcasts WHERE id = ?`, b.ID)
		testserver.SleepAndSettle(time.Second)
		if !orphaned() {
			t.Error("a link of a deleted broadcast leads on")
		}
	})
}

// BenchmarkFollowLink measures a click.
func BenchmarkFollowLink(b *testing.B) {
	w := testserver.StartTracking(b)
	id := w.Send("bo@example.org")
	token := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
	for b.Loop() {
		if to, ok := w.Services.Mail.FollowLink(b.Context(), "mail.test", token, nil); !ok || to.Orphaned {
			b.Fatal("it leads nowhere")
		}
	}
}
