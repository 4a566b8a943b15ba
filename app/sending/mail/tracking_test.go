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

func TestEveryAttemptHasTheSameTrackedBytes(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Firstly(testserver.Says(app.StageData, 451, "later"), testserver.Says(app.StageDot, 451, "later")))
		w := testserver.Tracked(t, relay)
		const html = `<body><a href="https://a.test/0">x</a></body>`
		id := sendHTML(w, html, "bo@example.org")
		w.SetTracking(app.Domain{}) // what was accepted keeps its tracking
		testserver.Later(time.Hour)
		tries := relay.Seen(id)
		if len(tries) != 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		first := tries[0].M.Mail.HTML
		if !strings.Contains(first, testserver.TrackBase+"/t/c/") || !strings.Contains(first, testserver.TrackBase+"/t/o/") || strings.Contains(first, "a.test") {
			t.Errorf("the html left as %s", first)
		}
		for _, try := range tries[1:] {
			if try.M.Mail.HTML != first {
				t.Errorf("another attempt has the html %s", try.M.Mail.HTML)
			}
		}
		if got := w.Email(id); got.HTML != html {
			t.Errorf("read back as %s", got.HTML)
		}
	})
}

func TestMailIsTrackedAsItsDomainWants(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
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

// TestACommandBesideAServerTracksToItsAddress: the command itself has none.
func TestACommandBesideAServerTracksToItsAddress(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		var err error
		w.Server, err = server.New(t.Context(), server.Config{DB: w.DB, Sealer: w.Config.Sealer})
		testserver.Must(t, err)
		if got := w.Email(sendHTML(w, testserver.Links(1), "bo@example.org")).Tracking; got == nil || got.Base != testserver.TrackBase {
			t.Errorf("tracked at %+v", got)
		}
	})
}

func TestHostedPagesAreNotTracked(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Tracked(t, relay)
		id := sendHTML(w, `<a href="{{{UNSUBSCRIBE_URL}}}">off</a>`+testserver.Links(1), "bo@example.org")
		page := w.Email(id).Unsubscribe
		if got := relay.Seen(id)[0].M.Mail.HTML; page == "" || !strings.Contains(got, `<a href="`+page+`">off</a><a href="`+testserver.TrackBase+`/t/c/`) {
			t.Errorf("the html left as %s", got)
		}
	})
}

func TestOpensAndClicksAreRecorded(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.Later(time.Minute)
		w.Look(id, testserver.Chrome)
		synctest.Wait()
		w.WantHits(id, "", app.Sent) // it waits for others
		opened := time.Now()
		testserver.Later(4 * time.Second)
		w.WantHits(id, "opened", app.Opened)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.Later(4 * time.Second)
		w.WantHits(id, "opened clicked1", app.Clicked)
		open, click := w.EventOf(id, app.EventType(app.Opened)), w.EventOf(id, app.EventType(app.Clicked))
		if !open.CreatedAt.Equal(opened) || open.Recipient != "bo@example.org" || open.Detail.Link != "" || open.Detail.IPAddress != "192.0.2.1" || open.Detail.UserAgent != testserver.Chrome {
			t.Errorf("opened %+v", open)
		}
		if click.Detail.Link != "https://a.test/1" || click.Recipient != "bo@example.org" || click.Detail.Message == "" {
			t.Errorf("clicked %+v", click)
		}
		w.Look(id, testserver.Chrome)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.Later(time.Minute)
		w.Look(id, testserver.Chrome)
		testserver.Later(4 * time.Second)
		w.WantHits(id, "opened clicked1 opened", app.Clicked) // within a minute once; last_event by rank
	})
}

func TestFetchesOfAnEmailToSeveralNameNobody(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org", "cy@example.org")
		testserver.Later(time.Minute)
		w.Look(id, testserver.Chrome)
		testserver.Later(4 * time.Second)
		if ev := w.EventOf(id, app.EventType(app.Opened)); ev.Recipient != "" {
			t.Errorf("opened by %s", ev.Recipient)
		}
	})
}

func TestTheOnlyLinkIsJudgedAtOnce(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Minute)
		w.Click(id, 0, 1, testserver.Chrome)
		synctest.Wait()
		w.WantHits(id, "clicked0", app.Clicked)
		for range 5 {
			w.Click(id, 0, 1, testserver.Chrome)
		}
		synctest.Wait()
		w.WantHits(id, "clicked0", app.Clicked)
	})
}

func TestWhatNoReaderFetchesIsPrefetched(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		soon := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(9 * time.Second)
		w.Look(soon, testserver.Chrome)
		w.Click(soon, 0, 1, testserver.Chrome)
		testserver.Later(4 * time.Second)
		w.WantHits(soon, "prefetched prefetched0", app.Sent)
		w.Click(soon, 0, 1, testserver.Chrome) // the reader comes after the scanner
		testserver.Later(time.Second)
		w.WantHits(soon, "prefetched prefetched0 clicked0", app.Clicked)

		proxied := sendHTML(w, testserver.Links(2), "bo@example.org")
		testserver.Later(time.Hour)
		w.Look(proxied, testserver.ImageProxy)
		w.Click(proxied, 0, 2, "")
		testserver.Later(4 * time.Second)
		w.WantHits(proxied, "prefetched prefetched0", app.Sent)
	})
}

func TestAFetchBeforeTheRelayTookTheMailIsPrefetched(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t, testserver.NewRelay(testserver.Always(testserver.Says(app.StageData, 451, "later"))))
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Second)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.Later(time.Second)
		w.WantHits(id, "prefetched0", app.Queued)
	})
}

// TestMailInDoubtCanBeOpened: the relay may have accepted it.
func TestMailInDoubtCanBeOpened(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t, testserver.NewRelay(testserver.Always(testserver.Lost)))
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(30 * time.Second)
		w.Click(id, 0, 1, testserver.Chrome)
		synctest.Wait()
		w.WantHits(id, "clicked0", app.Clicked)
	})
}

func TestABurstOverAllLinksIsPrefetched(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.Later(time.Hour)
		w.Look(id, testserver.Chrome)
		for i := range 3 {
			w.Click(id, i, 3, testserver.Chrome)
			testserver.Later(2 * time.Second)
		}
		testserver.Later(4 * time.Second)
		w.WantHits(id, "prefetched prefetched0 prefetched1 prefetched2", app.Sent)
		testserver.Later(time.Hour)
		w.Click(id, 0, 3, testserver.Chrome)
		w.Click(id, 2, 3, testserver.Chrome)
		testserver.Later(4 * time.Second)
		w.WantHits(id, "prefetched prefetched0 prefetched1 prefetched2 clicked0 clicked2", app.Clicked)
	})
}

// TestAScannerAfterAReaderIsStillABurst: the link that the reader followed
// belongs to it.
func TestAScannerAfterAReaderIsStillABurst(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(3), "bo@example.org")
		testserver.Later(time.Hour)
		w.Click(id, 1, 3, testserver.Chrome)
		testserver.Later(20 * time.Second)
		for i := range 3 {
			w.Click(id, i, 3, testserver.Chrome)
			testserver.Later(time.Millisecond) // the order of the events
		}
		testserver.Later(4 * time.Second)
		w.WantHits(id, "clicked1 prefetched0 prefetched1 prefetched2", app.Clicked)
	})
}

func TestALinkWaitsForOthersForTwelveSecondsAtMost(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(30), "bo@example.org")
		testserver.Later(time.Hour)
		for i := range 6 {
			w.Click(id, i, 30, testserver.Chrome)
			testserver.Later(1900 * time.Millisecond)
			if got := w.Hits(id); got != "" {
				t.Fatalf("recorded %q after the click at %d s", got, 2*i)
			}
			testserver.Later(100 * time.Millisecond)
		}
		testserver.Later(mail.JudgeEvery)
		w.WantHits(id, "clicked0 clicked1 clicked2 clicked3 clicked4 clicked5", app.Clicked)
	})
}

func TestStopJudgesWhatWaits(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id, burst := sendHTML(w, testserver.Links(3), "bo@example.org"), sendHTML(w, testserver.Links(2), "cy@example.org")
		testserver.Later(time.Minute)
		w.Click(id, 0, 3, testserver.Chrome)
		w.Click(burst, 0, 2, testserver.Chrome)
		w.Click(burst, 1, 2, testserver.Chrome)
		w.Stop()
		w.Open()
		w.WantHits(id, "clicked0", app.Clicked)
		w.WantHits(burst, "prefetched0 prefetched1", app.Sent)
	})
}

func TestStopJudgesAlsoWhatIsQueued(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Minute)
		w.Server.StopTaking()
		w.Server.Workers.Wait()
		for i := range 20 { // which of its doors it looks at first is left to chance
			w.Look(id, testserver.Chrome)
			w.Server.Mail.Track()
			if got := strings.Count(w.Hits(id), "opened"); got != i+1 {
				t.Fatalf("%d of %d opens are recorded", got, i+1)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestATimelineKeepsAHundredFetchesAndTheRankRises(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Minute)
		for range tracking.MaxPrefetchEvents + 5 {
			w.Look(id, testserver.ImageProxy)
			testserver.Later(2 * time.Minute)
		}
		for range tracking.MaxHitEvents {
			w.Look(id, testserver.Chrome)
			testserver.Later(2 * time.Minute)
		}
		w.WantLast(id, app.Opened)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.Later(time.Second)
		w.WantLast(id, app.Clicked)
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

func TestLinksOfADeletedEmailLeadOn(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id, other := sendHTML(w, testserver.Links(1), "bo@example.org"), sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Minute)
		testserver.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
		w.Click(id, 0, 1, testserver.Chrome)
		w.Click(other, 0, 1, testserver.Chrome)
		testserver.Later(time.Second)
		w.WantHits(other, "clicked0", app.Clicked) // the gone one harms no other
		if w.Log.Has("not counted") {
			t.Error("a deleted email is an error in the log")
		}
	})
}

func TestForeignTokensLeadNowhere(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		for _, token := range []string{"", "x", tracking.OpenToken(w.Server.Sealer, id)} {
			if got, ok := w.Server.Mail.FollowLink(t.Context(), "mail.test", token, nil); ok || got.Location != "" {
				t.Errorf("%q leads to %q", token, got.Location)
			}
		}
		if w.Server.Mail.NoteOpen("x", nil) {
			t.Error("a made-up pixel is known")
		}
	})
}

func TestUncountedFetchesLeaveNothing(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Minute)
		if !w.Server.Mail.NoteOpen(tracking.OpenToken(w.Server.Sealer, id), nil) {
			t.Error("the pixel is unknown")
		}
		token := tracking.ClickToken(w.Server.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/ü"})
		if got, ok := w.Server.Mail.FollowLink(t.Context(), "mail.test", token, nil); !ok || got.Location != "https://a.test/%C3%BC" || got.Orphaned {
			t.Errorf("leads to %+v, %v", got, ok)
		}
		testserver.Later(time.Minute)
		w.WantHits(id, "", app.Sent)
	})
}

func TestTooManyFetchesAreDroppedWithAWord(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Idle(t, testserver.NewRelay(nil)) // nobody takes from the queue
		token := tracking.OpenToken(w.Server.Sealer, app.NewID())
		for range mail.TrackQueue {
			w.Server.Mail.NoteOpen(token, &tracking.Visitor{})
		}
		if w.Log.Has("not counted") {
			t.Fatal("dropped while there is room")
		}
		if !w.Server.Mail.NoteOpen(token, &tracking.Visitor{}) || !w.Log.Has("some are not counted") {
			t.Error("a full queue is not told, or holds up the answer")
		}
	})
}

func TestAReadersClickMovesNoTroubleIntoTheTimeline(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Tracked(t, relay)
		id := sendHTML(w, testserver.Links(1), "bo@example.org")
		testserver.Later(time.Hour)
		relay.Follow(testserver.Firstly(testserver.Trouble(app.StageConnect, "down")))
		w.Send("cy@example.org") // meets the trouble, an hour after the first left
		testserver.Later(time.Hour)
		w.Click(id, 0, 1, testserver.Chrome)
		testserver.Later(time.Second)
		for _, ev := range w.Events(id) {
			if ev.Type == app.EventRelayTrouble {
				t.Errorf("a trouble after it left: %s", ev.Detail.Message)
			}
		}
	})
}

func TestALinkLedOnAfterWhatItStoodInWasDeleted(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		other := w.AddTeam("Other", "other.example")
		first, second := sendHTML(w, testserver.Links(1), "bo@example.org"), sendHTML(w, testserver.Links(1), "bo@example.org")
		follow := func(team, id string) tracking.Destination {
			t.Helper()
			token := tracking.ClickToken(w.Server.Sealer, tracking.ClickLink{TeamID: team, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
			got, ok := w.Server.Mail.FollowLink(t.Context(), "mail.test:443", token, &tracking.Visitor{})
			if !ok || got.Location != "https://a.test/0" {
				t.Errorf("%+v, %v", got, ok)
			}
			return got
		}
		testserver.Later(time.Minute)
		if follow(w.Key.TeamID, first).Orphaned || follow(w.Key.TeamID, second).Orphaned {
			t.Error("a link of mail that is there does not lead on")
		}
		if !follow(other.TeamID, app.NewID()).Orphaned {
			t.Error("a link of mail that never was leads on")
		}
		testserver.Must(t, w.Remove(first))
		testserver.Later(time.Second)
		if !follow(w.Key.TeamID, first).Orphaned || follow(w.Key.TeamID, second).Orphaned {
			t.Error("the deletion of an email ends other links than its own")
		}
		if !follow(other.TeamID, second).Orphaned {
			t.Error("mail of one team answers for a link of another")
		}
		d, err := w.Server.Domains.DomainByName(t.Context(), w.Key.TeamID, testserver.TestDomain)
		testserver.Must(t, err)
		testserver.Must(t, w.Server.Domains.DeleteDomain(t.Context(), w.Key, d.ID))
		testserver.Later(time.Second)
		if !follow(w.Key.TeamID, second).Orphaned {
			t.Error("a link leads on whose domain was deleted")
		}
	})
}

func TestALinkOfADeletedBroadcastLedOn(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w := testserver.Tracked(t)
		w.People(2)
		b := w.Newsletter(testserver.Links(1), nil)
		testserver.Later(time.Minute)
		id := w.MailTo(b, testserver.Person(0))
		token := tracking.ClickToken(w.Server.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
		orphaned := func() bool {
			got, ok := w.Server.Mail.FollowLink(t.Context(), "mail.test", token, nil)
			return !ok || got.Orphaned
		}
		if orphaned() {
			t.Error("a link of a broadcast does not lead on")
		}
		w.Sql(`DELETE FROM broadcasts WHERE id = ?`, b.ID)
		testserver.Later(time.Second)
		if !orphaned() {
			t.Error("a link of a deleted broadcast leads on")
		}
	})
}

// BenchmarkFollowLink is what a click costs.
func BenchmarkFollowLink(b *testing.B) {
	w := testserver.Tracked(b)
	id := w.Send("bo@example.org")
	token := tracking.ClickToken(w.Server.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: id, Host: "mail.test", Links: 1, Target: "https://a.test/0"})
	for b.Loop() {
		if to, ok := w.Server.Mail.FollowLink(b.Context(), "mail.test", token, nil); !ok || to.Orphaned {
			b.Fatal("it leads nowhere")
		}
	}
}
