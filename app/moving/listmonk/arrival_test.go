package listmonk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/tenants/audience"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// subscribers returns an instance with each status on each list, and its archive.
func subscribers(t *testing.T) (*apptest.Listmonk, *archive.Reader) {
	t.Helper()
	l := instance(5, 72)
	l.Campaigns = nil
	dir := filepath.Join(memory(t), "a")
	testserver.Must(t, readAll(t, l, dir))
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	return l, r
}

func firstTeam(t *testing.T, w *testserver.Server) *app.Team {
	t.Helper()
	team, err := w.Services.Teams.FindTeam(t.Context(), w.Key.TeamID)
	testserver.Must(t, err)
	return &team
}

// mailedTo sends one broadcast to each imported list and returns who got which.
func mailedTo(t *testing.T, w *testserver.Server, relay *testserver.FakeRelay) map[string][]string {
	t.Helper()
	var topics []app.Topic
	var segments []app.Segment
	w.Read(func(r *db.Reader) (err error) {
		if topics, _, err = r.ListTopics(w.Key.TeamID, app.Page{Limit: 100}); err == nil {
			segments, _, err = r.ListSegments(w.Key.TeamID, app.Page{Limit: 100})
		}
		return err
	})
	out := map[string][]string{}
	one := func(name string, aim func(b *app.Broadcast)) {
		before := testserver.Received(relay)
		w.SendNewsletter("<p>Hello</p>", aim)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for address, n := range testserver.Received(relay) {
			if n > before[address] {
				out[name] = append(out[name], address)
			}
		}
	}
	for _, p := range topics {
		one(p.Name, func(b *app.Broadcast) { b.TopicID = p.ID })
	}
	for _, s := range segments {
		one(s.Name, func(b *app.Broadcast) { b.SegmentID = s.ID })
	}
	return out
}

// listNamed finds a list by its name here.
func listNamed(l *apptest.Listmonk, name string) apptest.LMList {
	for _, list := range l.Lists {
		if strings.HasPrefix(name, strings.TrimSpace(list.Name)) && (list.ID != 4 && !strings.HasSuffix(name, "(4)")) || strings.HasSuffix(name, fmt.Sprintf(" (%d)", list.ID)) || list.Name == name {
			return list
		}
	}
	return apptest.LMList{}
}

func TestListRecipientsAreKept(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		l, r := subscribers(t)
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		other := w.AddTeam("Other", "other.example")
		plan, err := w.Services.Transfer.Import(t.Context(), firstTeam(t, w), r, transfer.Options{})
		testserver.Must(t, err)
		report, err := w.Services.Transfer.Import(t.Context(), firstTeam(t, w), r, transfer.Options{Apply: true})
		testserver.Must(t, err)
		report.Applied = false
		if a, b := text(t, plan), text(t, report); a != b {
			t.Errorf("planned\n%s\nand done\n%s", a, b)
		}
		if report.Contacts.New != 72 || report.OptedOut < 36 || report.Suppressions.Unsubscribe != 18 || report.Suppressions.Left != 2 || len(report.Refused) > 0 {
			t.Errorf("%+v", report)
		}
		got := mailedTo(t, w, relay)
		for _, list := range got {
			slices.Sort(list)
		}
		for _, list := range l.Lists {
			var want []string
			for _, s := range l.Subscribers {
				if receivesThere(l, s, list) {
					want = append(want, s.Email)
				}
			}
			slices.Sort(want)
			found := false
			for name, addresses := range got {
				if listNamed(l, name).ID == list.ID {
					found = true
					if !slices.Equal(addresses, want) {
						t.Errorf("%s went to\n%v, not\n%v", name, addresses, want)
					}
				}
			}
			if !found && len(want) > 0 {
				t.Errorf("nothing went to %s; there are %v", list.Name, slices.Collect(maps.Keys(got)))
			}
		}
		again, err := w.Services.Transfer.Import(t.Context(), firstTeam(t, w), r, transfer.Options{Apply: true})
		testserver.Must(t, err)
		if again.Contacts.New+again.OptedOut+again.TopicChoices+again.Suppressions.Bounce+again.Suppressions.Complaint+again.Suppressions.Unsubscribe > 0 {
			t.Errorf("again: %+v", again)
		}
		for _, list := range [][]transfer.Thing{again.Topics, again.Segments, again.Properties, again.Templates, again.Broadcasts} {
			if slices.ContainsFunc(list, func(x transfer.Thing) bool { return x.New }) {
				t.Errorf("again: %+v", list)
			}
		}
		w.Read(func(r *db.Reader) error {
			topics, _, err := r.ListTopics(other.TeamID, app.Page{Limit: 100})
			if len(topics) > 0 {
				t.Error("another team has topics now")
			}
			return err
		})
	})
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	testserver.Must(t, err)
	return string(b)
}

// TestInterruptedImportKeepsOptOuts: wherever an import is interrupted, no opt-out is lost, not
// even of existing contacts.
func TestInterruptedImportKeepsOptOuts(t *testing.T) {
	testserver.BothEngines(t)
	for _, at := range []int{2, 4, 5, 7, 9} { // reports of progress
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				l, r := subscribers(t)
				relay := testserver.NewRelay(nil)
				w := testserver.Start(t, relay)
				// Existing contacts: all subscribers, opted in to everything.
				var items []audience.ContactItem
				for _, s := range l.Subscribers {
					items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: s.Email}})
				}
				_, err := w.Services.Audience.PutContacts(t.Context(), w.Key, items, app.ConflictError, false)
				testserver.Must(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := 0
				_, err = w.Services.Transfer.Import(ctx, firstTeam(t, w), r, transfer.Options{Apply: true, Progress: func(archive.Kind, int) {
					if n++; n == at {
						cancel()
					}
				}})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				for name, addresses := range mailedTo(t, w, relay) {
					list := listNamed(l, name)
					for _, s := range l.Subscribers {
						if slices.Contains(addresses, s.Email) && !receivesThere(l, s, list) {
							t.Errorf("cut off at %d: %s went to %+v", at, name, s)
						}
					}
				}
			})
		})
	}
}
