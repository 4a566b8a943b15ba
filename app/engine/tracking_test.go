package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/tracking"
	"mailer/db"
)

const (
	trackBase  = "https://mail.test"
	chrome     = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36"
	imageProxy = "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"
)

// tracked makes a world whose domain tracks opens and clicks.
func tracked(t testing.TB, relays ...*fakeRelay) *world {
	t.Helper()
	if len(relays) == 0 {
		relays = []*fakeRelay{newRelay(nil)}
	}
	w := idle(t, relays...)
	w.e.server.BaseURL = trackBase
	w.setTracking(app.Domain{OpenTracking: true, ClickTracking: true})
	w.start()
	return w
}

// setTracking gives the test domain the tracking of d.
func (w *world) setTracking(d app.Domain) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		old, err := tx.DomainByName(w.key.TeamID, testDomain)
		if err != nil {
			return err
		}
		d.ID, d.TeamID, d.Name, d.Status, d.CheckAt = old.ID, old.TeamID, old.Name, old.Status, old.CheckAt
		if err := tx.SetDomainTracking(&d); err != nil {
			return err
		}
		return tx.SetDomainChecks(&d)
	}))
}

// links is an html with so many links.
func links(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<a href="https://a.test/%d">x</a>`, i)
	}
	return b.String()
}

// sendHTML has an email with that html accepted and, where a relay is due to,
// taken.
func (w *world) sendHTML(html string, to ...string) string {
	w.t.Helper()
	in := letter(to...)
	in.HTML = html
	id, err := w.e.SendEmail(w.t.Context(), w.key, in, SendOptions{})
	must(w.t, err)
	synctest.Wait()
	return id
}

// look loads the pixel of an email, click follows one of its links.
func (w *world) look(id, agent string) {
	w.t.Helper()
	if !w.e.FetchPixel(tracking.OpenToken(w.e.cfg.Sealer, id), &tracking.Visitor{UserAgent: agent, IPAddress: "192.0.2.1"}) {
		w.t.Error("the pixel is unknown")
	}
}

func (w *world) click(id string, link, of int, agent string) {
	w.t.Helper()
	target := fmt.Sprintf("https://a.test/%d", link)
	token := tracking.ClickToken(w.e.cfg.Sealer, tracking.ClickLink{EmailID: id, Link: link, Links: of, Target: target})
	if got, ok := w.e.FollowLink(token, &tracking.Visitor{UserAgent: agent, IPAddress: "192.0.2.1"}); !ok || got != target {
		w.t.Errorf("the link leads to %q, %v", got, ok)
	}
}

// fetches are the types of the events that fetches left, oldest first, with the
// numbers of their links.
func (w *world) fetches(id string) string {
	w.t.Helper()
	var out []string
	for _, ev := range w.events(id) {
		switch ev.Type {
		case app.EventType(app.Opened), app.EventType(app.Clicked), app.EventPrefetched:
			out = append(out, string(ev.Type)+strings.TrimPrefix(ev.Detail.Link, "https://a.test/"))
		}
	}
	return strings.Join(out, " ")
}

func (w *world) wantFetches(id, want string, last app.LastEvent) {
	w.t.Helper()
	if got := w.fetches(id); got != want {
		w.t.Errorf("recorded %q, want %q; timeline:\n%s", got, want, w.story(id))
	}
	w.wantLast(id, last)
}

// later lets time pass and everything settle.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestEveryAttemptHasTheSameTrackedBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(says(app.StageData, 451, "later"), says(app.StageDot, 451, "later")))
		w := tracked(t, relay)
		const html = `<body><a href="https://a.test/0">x</a></body>`
		id := w.sendHTML(html, "bo@example.org")
		w.setTracking(app.Domain{}) // what was accepted keeps its tracking
		later(time.Hour)
		tries := relay.seen(id)
		if len(tries) != 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		first := tries[0].m.Mail.HTML
		if !strings.Contains(first, trackBase+"/t/c/") || !strings.Contains(first, trackBase+"/t/o/") || strings.Contains(first, "a.test") {
			t.Errorf("the html left as %s", first)
		}
		for _, try := range tries[1:] {
			if try.m.Mail.HTML != first {
				t.Errorf("another attempt has the html %s", try.m.Mail.HTML)
			}
		}
		if got := w.email(id); got.HTML != html {
			t.Errorf("read back as %s", got.HTML)
		}
	})
}

func TestMailIsTrackedAsItsDomainWants(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		live := []app.RecordCheck{{Record: app.RecordTracking, Name: "links." + testDomain, Type: "CNAME", Live: app.LiveFound}}
		for _, c := range []struct {
			name   string
			domain app.Domain
			html   string
			want   *app.Tracking
		}{
			{"both", app.Domain{OpenTracking: true, ClickTracking: true}, links(1), &app.Tracking{Base: trackBase, Open: true, Click: true}},
			{"opens", app.Domain{OpenTracking: true}, links(1), &app.Tracking{Base: trackBase, Open: true}},
			{"no html", app.Domain{OpenTracking: true}, "", nil},
			{"nothing", app.Domain{TrackingSubdomain: "links", Checks: live}, links(1), nil},
			{"a host of its own", app.Domain{ClickTracking: true, TrackingSubdomain: "links", Checks: live}, links(1),
				&app.Tracking{Base: "https://links." + testDomain, Click: true, Pages: trackBase}},
		} {
			w.setTracking(c.domain)
			got := w.email(w.sendHTML(c.html, "bo@example.org")).Tracking
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	})
}

// TestACommandBesideAServerTracksToItsAddress: the command itself has none.
func TestACommandBesideAServerTracksToItsAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		var err error
		w.e, err = New(t.Context(), Config{DB: w.db, Sealer: w.cfg.Sealer})
		must(t, err)
		if got := w.email(w.sendHTML(links(1), "bo@example.org")).Tracking; got == nil || got.Base != trackBase {
			t.Errorf("tracked at %+v", got)
		}
	})
}

func TestHostedPagesAreNotTracked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := tracked(t, relay)
		id := w.sendHTML(`<a href="{{{UNSUBSCRIBE_URL}}}">off</a>`+links(1), "bo@example.org")
		page := w.email(id).Unsubscribe
		if got := relay.seen(id)[0].m.Mail.HTML; page == "" || !strings.Contains(got, `<a href="`+page+`">off</a><a href="`+trackBase+`/t/c/`) {
			t.Errorf("the html left as %s", got)
		}
	})
}

func TestOpensAndClicksAreRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(3), "bo@example.org")
		later(time.Minute)
		w.look(id, chrome)
		synctest.Wait()
		w.wantFetches(id, "", app.Sent) // it waits for others
		opened := time.Now()
		later(4 * time.Second)
		w.wantFetches(id, "opened", app.Opened)
		w.click(id, 1, 3, chrome)
		later(4 * time.Second)
		w.wantFetches(id, "opened clicked1", app.Clicked)
		open, click := w.eventOf(id, app.EventType(app.Opened)), w.eventOf(id, app.EventType(app.Clicked))
		if !open.CreatedAt.Equal(opened) || open.Recipient != "bo@example.org" || open.Detail.Link != "" || open.Detail.IPAddress != "192.0.2.1" || open.Detail.UserAgent != chrome {
			t.Errorf("opened %+v", open)
		}
		if click.Detail.Link != "https://a.test/1" || click.Recipient != "bo@example.org" || click.Detail.Message == "" {
			t.Errorf("clicked %+v", click)
		}
		w.look(id, chrome)
		w.click(id, 1, 3, chrome)
		later(time.Minute)
		w.look(id, chrome)
		later(4 * time.Second)
		w.wantFetches(id, "opened clicked1 opened", app.Clicked) // within a minute once; last_event by rank
	})
}

func TestFetchesOfAnEmailToSeveralNameNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org", "cy@example.org")
		later(time.Minute)
		w.look(id, chrome)
		later(4 * time.Second)
		if ev := w.eventOf(id, app.EventType(app.Opened)); ev.Recipient != "" {
			t.Errorf("opened by %s", ev.Recipient)
		}
	})
}

func TestTheOnlyLinkIsJudgedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Minute)
		w.click(id, 0, 1, chrome)
		synctest.Wait()
		w.wantFetches(id, "clicked0", app.Clicked)
		for range 5 {
			w.click(id, 0, 1, chrome)
		}
		synctest.Wait()
		w.wantFetches(id, "clicked0", app.Clicked)
	})
}

func TestWhatNoReaderFetchesIsPrefetched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		soon := w.sendHTML(links(1), "bo@example.org")
		later(9 * time.Second)
		w.look(soon, chrome)
		w.click(soon, 0, 1, chrome)
		later(4 * time.Second)
		w.wantFetches(soon, "prefetched prefetched0", app.Sent)
		w.click(soon, 0, 1, chrome) // the reader comes after the scanner
		later(time.Second)
		w.wantFetches(soon, "prefetched prefetched0 clicked0", app.Clicked)

		proxied := w.sendHTML(links(2), "bo@example.org")
		later(time.Hour)
		w.look(proxied, imageProxy)
		w.click(proxied, 0, 2, "")
		later(4 * time.Second)
		w.wantFetches(proxied, "prefetched prefetched0", app.Sent)
	})
}

func TestAFetchBeforeTheRelayTookTheMailIsPrefetched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t, newRelay(always(says(app.StageData, 451, "later"))))
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Second)
		w.click(id, 0, 1, chrome)
		later(time.Second)
		w.wantFetches(id, "prefetched0", app.Queued)
	})
}

// TestMailInDoubtCanBeOpened: the relay may have taken it.
func TestMailInDoubtCanBeOpened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t, newRelay(always(lost)))
		id := w.sendHTML(links(1), "bo@example.org")
		later(30 * time.Second)
		w.click(id, 0, 1, chrome)
		synctest.Wait()
		w.wantFetches(id, "clicked0", app.Clicked)
	})
}

func TestABurstOverAllLinksIsPrefetched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(3), "bo@example.org")
		later(time.Hour)
		w.look(id, chrome)
		for i := range 3 {
			w.click(id, i, 3, chrome)
			later(2 * time.Second)
		}
		later(4 * time.Second)
		w.wantFetches(id, "prefetched prefetched0 prefetched1 prefetched2", app.Sent)
		later(time.Hour)
		w.click(id, 0, 3, chrome)
		w.click(id, 2, 3, chrome)
		later(4 * time.Second)
		w.wantFetches(id, "prefetched prefetched0 prefetched1 prefetched2 clicked0 clicked2", app.Clicked)
	})
}

// TestAScannerAfterAReaderIsStillABurst: the link that the reader followed
// belongs to it.
func TestAScannerAfterAReaderIsStillABurst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(3), "bo@example.org")
		later(time.Hour)
		w.click(id, 1, 3, chrome)
		later(20 * time.Second)
		for i := range 3 {
			w.click(id, i, 3, chrome)
			later(time.Millisecond) // the order of the events
		}
		later(4 * time.Second)
		w.wantFetches(id, "clicked1 prefetched0 prefetched1 prefetched2", app.Clicked)
	})
}

func TestALinkWaitsForOthersForTwelveSecondsAtMost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(30), "bo@example.org")
		later(time.Hour)
		for i := range 6 {
			w.click(id, i, 30, chrome)
			later(1900 * time.Millisecond)
			if got := w.fetches(id); got != "" {
				t.Fatalf("recorded %q after the click at %d s", got, 2*i)
			}
			later(100 * time.Millisecond)
		}
		later(judgeEvery)
		w.wantFetches(id, "clicked0 clicked1 clicked2 clicked3 clicked4 clicked5", app.Clicked)
	})
}

func TestStopJudgesWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id, burst := w.sendHTML(links(3), "bo@example.org"), w.sendHTML(links(2), "cy@example.org")
		later(time.Minute)
		w.click(id, 0, 3, chrome)
		w.click(burst, 0, 2, chrome)
		w.click(burst, 1, 2, chrome)
		w.stop()
		w.open()
		w.wantFetches(id, "clicked0", app.Clicked)
		w.wantFetches(burst, "prefetched0 prefetched1", app.Sent)
	})
}

func TestStopJudgesAlsoWhatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Minute)
		w.e.stop()
		w.e.workers.Wait()
		for i := range 20 { // which of its doors it looks at first is left to chance
			w.look(id, chrome)
			w.e.track()
			if got := strings.Count(w.fetches(id), "opened"); got != i+1 {
				t.Fatalf("%d of %d fetches are recorded", got, i+1)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

func TestATimelineKeepsAHundredFetchesAndTheRankRises(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Minute)
		for range tracking.MaxPrefetchEvents + 5 {
			w.look(id, imageProxy)
			later(2 * time.Minute)
		}
		for range tracking.MaxFetchEvents {
			w.look(id, chrome)
			later(2 * time.Minute)
		}
		w.wantLast(id, app.Opened)
		w.click(id, 0, 1, chrome)
		later(time.Second)
		w.wantLast(id, app.Clicked)
		var events []app.Event
		w.read(func(r *db.Reader) (err error) {
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
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id, other := w.sendHTML(links(1), "bo@example.org"), w.sendHTML(links(1), "bo@example.org")
		later(time.Minute)
		must(t, w.e.DeleteEmail(t.Context(), w.key, id))
		w.click(id, 0, 1, chrome)
		w.click(other, 0, 1, chrome)
		later(time.Second)
		w.wantFetches(other, "clicked0", app.Clicked) // the gone one harms no other
		if w.log.has("not counted") {
			t.Error("a deleted email is an error in the log")
		}
	})
}

func TestForeignTokensLeadNowhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org")
		for _, token := range []string{"", "x", tracking.OpenToken(w.e.cfg.Sealer, id)} {
			if got, ok := w.e.FollowLink(token, nil); ok || got != "" {
				t.Errorf("%q leads to %q", token, got)
			}
		}
		if w.e.FetchPixel("x", nil) {
			t.Error("a made-up pixel is known")
		}
	})
}

func TestUncountedFetchesLeaveNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := tracked(t)
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Minute)
		if !w.e.FetchPixel(tracking.OpenToken(w.e.cfg.Sealer, id), nil) {
			t.Error("the pixel is unknown")
		}
		if got, ok := w.e.FollowLink(tracking.ClickToken(w.e.cfg.Sealer, tracking.ClickLink{EmailID: id, Links: 1, Target: "https://a.test/ü"}), nil); !ok || got != "https://a.test/%C3%BC" {
			t.Errorf("leads to %q, %v", got, ok)
		}
		later(time.Minute)
		w.wantFetches(id, "", app.Sent)
	})
}

func TestTooManyFetchesAreDroppedWithAWord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil)) // nobody takes from the queue
		token := tracking.OpenToken(w.e.cfg.Sealer, app.NewID())
		for range trackQueue {
			w.e.FetchPixel(token, &tracking.Visitor{})
		}
		if w.log.has("not counted") {
			t.Fatal("dropped while there is room")
		}
		if !w.e.FetchPixel(token, &tracking.Visitor{}) || !w.log.has("some are not counted") {
			t.Error("a full queue is not told, or holds up the answer")
		}
	})
}

func TestAReadersClickMovesNoTroubleIntoTheTimeline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := tracked(t, relay)
		id := w.sendHTML(links(1), "bo@example.org")
		later(time.Hour)
		relay.follow(firstly(trouble(app.StageConnect, "down")))
		w.send("cy@example.org") // meets the trouble, an hour after the first left
		later(time.Hour)
		w.click(id, 0, 1, chrome)
		later(time.Second)
		for _, ev := range w.events(id) {
			if ev.Type == app.EventRelayTrouble {
				t.Errorf("a trouble after it left: %s", ev.Detail.Message)
			}
		}
	})
}
