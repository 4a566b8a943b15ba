package pacing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// queuesOf returns queues from alternating "team/broadcast" and remaining messages.
func queuesOf(t testing.TB, entries ...any) (queues []BulkQueue) {
	t.Helper()
	for i := 0; i < len(entries); i += 2 {
		id := entries[i].(string)
		queues = append(queues, BulkQueue{ID: id, TeamID: id[:1], Remaining: int64(entries[i+1].(int))})
	}
	return queues
}

func TestShareBulk(t *testing.T) {
	for _, test := range []struct {
		name   string
		queues []BulkQueue
		window int64
		room   int
		after  string
		want   string // in the order of the queues
	}{
		{"one takes all", queuesOf(t, "a1", 100), -1, 10, "", "10"},
		{"no more than remains", queuesOf(t, "a1", 3), -1, 10, "", "3"},
		{"equal parts between teams, then broadcasts", queuesOf(t, "a1", 100, "a2", 100, "b1", 100), -1, 8, "", "2 2 4"},
		{"what one can't use is the others'", queuesOf(t, "a1", 1, "b1", 100, "c1", 100), -1, 9, "", "1 4 4"},
		{"odd ones go on behind the last", queuesOf(t, "a1", 9, "b1", 9, "c1", 9), -1, 4, "a1", "1 2 1"},
		{"an unknown last one", queuesOf(t, "a1", 9, "b1", 9), -1, 1, "z1", "1 0"},
		{"the window bounds all", queuesOf(t, "a1", 100, "b1", 100), 4, 10, "", "2 2"},
		{"no window, nothing", queuesOf(t, "a1", 100), 0, 10, "", "0"},
		{"the window is the earlier one's", queuesOf(t, "a1", 100, "a2", 100), 50, 10, "", "10 0"},
		{"what the earlier one leaves", queuesOf(t, "a1", 47, "a2", 100), 50, 100, "", "47 3"},
		{"rate is shared where the window lets both", queuesOf(t, "a1", 40, "a2", 100), 60, 10, "", "5 5"},
		{"the later one up to its part", queuesOf(t, "a1", 40, "a2", 100), 42, 10, "", "8 2"},
		{"each team has its part of the window", queuesOf(t, "a1", 1000, "b1", 1000, "b2", 10), 60, 100, "", "30 30 0"},
		{"the part that a team can't use", queuesOf(t, "a1", 10, "b1", 1000), 60, 100, "", "10 50"},
		{"one message left in the window", queuesOf(t, "a1", 10, "b1", 10), 1, 10, "a1", "0 1"},
		{"finished ones do not count", queuesOf(t, "a1", 0, "a2", 5, "b1", 0), 10, 10, "", "0 5 0"},
		{"nothing is negative", queuesOf(t, "a1", -5, "b1", 5), 10, 10, "", "0 5"},
		{"a team that drips", []BulkQueue{{ID: "a1", TeamID: "a", Remaining: 9, Drip: true}, {ID: "a2", TeamID: "a", Remaining: 9, Drip: true}, {ID: "b1", TeamID: "b", Remaining: 9}}, -1, 6, "", "1 0 5"},
		{"a team that rests keeps its part", []BulkQueue{{ID: "a1", TeamID: "a", Remaining: 9, Drip: true, AtLimit: true}, {ID: "b1", TeamID: "b", Remaining: 9}}, 8, 8, "", "0 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := counts(test.queues, ShareBulk(test.queues, test.window, test.room, test.after)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func counts(queues []BulkQueue, turns []BulkBatch) string {
	var out []string
	for _, q := range queues {
		n := 0
		for _, turn := range turns {
			if turn.ID == q.ID {
				n += turn.N
			}
		}
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, " ")
}

// TestRemaindersRotate runs small rounds, limited by capacity or by the window: no team may fall
// behind by more than a message, and if the window allows it, no broadcast of a team either.
func TestRemaindersRotate(t *testing.T) {
	for _, test := range []struct {
		window int64
		room   int
	}{{-1, 1}, {-1, 2}, {-1, 3}, {-1, 4}, {-1, 5}, {-1, 7}, {-1, 11}, {1, 9}, {2, 9}, {4, 9}, {5, 9}, {7, 9}, {5, 5}, {5, 4}} {
		queues := queuesOf(t, "a1", 6000, "a2", 7000, "a3", 8001, "b1", 6000, "c1", 7777, "c2", 9000)
		sent, after, rounds := map[string]int{}, "", 1000
		for range rounds {
			for _, turn := range ShareBulk(queues, test.window, test.room, after) {
				sent[turn.ID] += turn.N
				after = turn.ID
				i := slices.IndexFunc(queues, func(q BulkQueue) bool { return q.ID == turn.ID })
				queues[i].Remaining -= int64(turn.N)
			}
		}
		team := func(ids ...string) (n int) {
			low, high := 1<<30, 0
			for _, id := range ids {
				n += sent[id]
				low, high = min(low, sent[id]), max(high, sent[id])
			}
			if high-low > 2 && test.window < 0 {
				t.Errorf("%+v: %v within a team", test, sent)
			}
			return n
		}
		a, b, c, size := team("a1", "a2", "a3"), team("b1"), team("c1", "c2"), test.room
		if test.window >= 0 {
			size = min(size, int(test.window))
		}
		if a+b+c != rounds*size || max(a, b, c)-min(a, b, c) > 1 {
			t.Errorf("%+v: teams had %d, %d and %d", test, a, b, c)
		}
	}
}

// TestShareBulkProperties tries random mixtures: rounds respect the window, the capacity and the
// remaining messages, and never use what is reserved for an earlier broadcast of the team.
func TestShareBulkProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var queues []BulkQueue
		for i := range random.IntN(8) {
			queues = append(queues, BulkQueue{ID: fmt.Sprint(i), TeamID: fmt.Sprint(random.IntN(3)), Remaining: random.Int64N(30)})
		}
		window, room := random.Int64N(80)-5, random.IntN(40)
		checkShare(t, queues, window, room, fmt.Sprint(random.IntN(8)))
	}
}

func checkShare(t *testing.T, queues []BulkQueue, window int64, room int, after string) {
	t.Helper()
	got, all, want := map[string]int64{}, int64(0), int64(0)
	for _, turn := range ShareBulk(queues, window, room, after) {
		got[turn.ID] += int64(turn.N)
		all += int64(turn.N)
		if turn.N <= 0 {
			t.Fatalf("a turn of %d", turn.N)
		}
	}
	var teams []string
	for _, q := range queues {
		want += q.need()
		if !slices.Contains(teams, q.TeamID) && q.need() > 0 {
			teams = append(teams, q.TeamID)
		}
	}
	if want = min(want, int64(room)); window >= 0 {
		want = min(want, window)
	}
	if all != want {
		t.Fatalf("%d messages of %+v with window %d and room %d, want %d", all, queues, window, room, want)
	}
	for i, q := range queues {
		if got[q.ID] > q.need() {
			t.Fatalf("%d of %+v", got[q.ID], q)
		}
		var ahead int64
		for _, e := range queues[:i] {
			if e.TeamID == q.TeamID {
				ahead += e.need()
			}
		}
		if window >= 0 && got[q.ID] > 0 && len(teams) == 1 && got[q.ID]+ahead > window {
			t.Fatalf("%d of %+v, with window %d", got[q.ID], queues, window)
		}
	}
}

func TestBulkShareRounding(t *testing.T) {
	for _, test := range []struct {
		daily   int64
		reserve float64
		want    int64
	}{{100, 0.3, 70}, {10, 0.9, 1}, {50_000, 0.3, 35_000}, {1000, 0, 1000}, {20, 0.95, 1}, {99, 0.3, 69}, {1, 0.3, 0}, {1_000_000_000, 0.35, 650_000_000}} {
		if got := BulkShare(test.daily, 1-test.reserve); got != test.want {
			t.Errorf("share of %d with %g reserved is %d, want %d", test.daily, test.reserve, got, test.want)
		}
	}
}
