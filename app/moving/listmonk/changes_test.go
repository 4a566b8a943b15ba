package listmonk

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/testing/apptest"
)

// receivesThere implements listmonk's documentation, except that disabled subscribers get nothing.
func receivesThere(l *apptest.Listmonk, s apptest.LMSubscriber, list apptest.LMList) bool {
	for _, m := range s.Lists {
		if m.List == list.ID {
			return s.Status == "enabled" && (m.Status == "confirmed" || m.Status == "unconfirmed" && list.Optin == "single")
		}
	}
	return false
}

// duringRead makes all kinds of changes that subscribers and the owner make.
func duringRead(l *apptest.Listmonk) (touched map[string]bool) {
	touched = map[string]bool{}
	now := time.Now().Add(l.Clock)
	leave := func(s *apptest.LMSubscriber, lists ...int) {
		for i := range s.Lists {
			if m := &s.Lists[i]; len(lists) == 0 || slices.Contains(lists, m.List) {
				m.Status, m.Changed = "unsubscribed", now
			}
		}
	}
	for i := range l.Subscribers {
		s := &l.Subscribers[i]
		s.Lists = slices.Clone(s.Lists)
		touched[s.Email] = true
		switch i % 11 {
		case 0:
			leave(s, 1, 2)
		case 1:
			leave(s, 3, 7)
		case 2:
			s.Status, s.Updated = "blocklisted", now
			leave(s)
		case 3: // by the link in a mail
			s.Status = "blocklisted"
			leave(s)
		case 4:
			s.Status, s.Updated = "disabled", now
		default:
			delete(touched, s.Email)
		}
	}
	l.Subscribers = slices.DeleteFunc(l.Subscribers, func(s apptest.LMSubscriber) bool { return s.ID%5 == 0 })
	for i := range 3 {
		s := apptest.LMSubscriber{ID: 10_000 + i, Email: fmt.Sprintf("new%d@example.org", i), Status: "enabled", Created: now, Updated: now,
			Lists: []apptest.LMMember{{List: 2, Status: "unconfirmed", Changed: now}, {List: 1, Status: "unconfirmed", Changed: now}}}
		l.Subscribers = append(l.Subscribers, s)
	}
	return touched
}

func TestConcurrentChangesLoseNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, last = 4, 11 // from the first page of subscribers to the first page of opt-outs
		for _, clock := range []time.Duration{-200 * time.Hour} {
			for at := first; at <= last; at++ {
				l := instance(3, 160)
				l.Campaigns = nil
				l.Clock = clock
				paths := ""
				var touched map[string]bool
				l.Fault = func(n int, r *http.Request) string {
					paths = fmt.Sprint(r.URL.Path, "?", r.URL.RawQuery)
					if n == at {
						time.Sleep(3 * 24 * time.Hour) // length of the interruption, in fake time
						l.Change(func() { touched = duringRead(l) })
					}
					return ""
				}
				dir := filepath.Join(memory(t), "a")
				if err := readAll(t, l, dir); err != nil {
					t.Fatal(err)
				}
				h := open(t, dir)
				seen := map[string]bool{}
				for _, c := range h.contacts {
					seen[c.Email] = true
				}
				for _, s := range l.Subscribers {
					if !seen[s.Email] {
						t.Errorf("changed before request %d: %s was passed over", at, s.Email)
					}
					for _, list := range l.Lists {
						there, here := receivesThere(l, s, list), h.receives(s.Email, fmt.Sprint(list.ID), list.Type == "public")
						if here && !there || here != there && !touched[s.Email] {
							t.Errorf("changed before request %d: %+v: list %d goes to him there: %v, here: %v", at, s, list.ID, there, here)
						}
					}
				}
				if len(touched) < 60 || paths == "" {
					t.Fatalf("only %d were touched", len(touched))
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	})
}

func TestStaleTotalHidesNobody(t *testing.T) {
	for _, total := range []int{1, 49, 50, 51, 100, 160, 1000, 1_000_000_000} {
		l := instance(3, 160)
		l.Campaigns = nil
		l.StaleTotal = total
		h := read(t, l)
		if len(h.contacts) != 160 {
			t.Errorf("with a total of %d: %d contacts", total, len(h.contacts))
		}
		if l.Requests() > 150 {
			t.Errorf("with a total of %d: %d requests", total, l.Requests())
		}
	}
}

// TestUpdateBetweenPagesHidesNobody: the page size changes between two pages.
func TestUpdateBetweenPagesHidesNobody(t *testing.T) {
	for at := 4; at < 12; at++ {
		for _, sizes := range [][2]int{{25, 250}, {35, 15}, {15, 35}} {
			l := instance(5, 115)
			l.Campaigns = nil
			l.PerPage = sizes[0]
			subscribers := len(l.Subscribers)
			l.Fault = func(n int, _ *http.Request) string {
				if n == at {
					l.Change(func() { l.PerPage = sizes[1] })
				}
				return ""
			}
			h := read(t, l)
			seen := map[string]bool{}
			for _, c := range h.contacts {
				seen[c.Email] = true
			}
			if len(seen) != subscribers {
				t.Errorf("%v, updated before request %d: %d of %d", sizes, at, len(seen), subscribers)
			}
		}
	}
}
