package transfer_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/testing/testserver"
)

// reasons are all origins, weakest first.
var reasons = []app.SuppressionOrigin{app.OriginUnsubscribe, app.OriginManual, app.OriginBounce, app.OriginComplaint}

// suppressionsOf returns an archive in which each address has two origins, with enough others
// between them to fill a batch.
func suppressionsOf(t *testing.T, between int, pairs [][2]app.SuppressionOrigin) *archive.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	w, err := archive.Create(dir)
	testserver.Must(t, err)
	for turn := range 2 {
		for i, pair := range pairs {
			if pair[turn] != "" {
				testserver.Must(t, w.Put(archive.Suppressions, &archive.Suppression{Email: fmt.Sprintf("p%d@bücher.example", i), Origin: pair[turn]}))
			}
		}
		for i := range between {
			testserver.Must(t, w.Put(archive.Suppressions, &archive.Suppression{Email: fmt.Sprintf("other%d-%d@people.example", turn, i), Origin: app.OriginManual}))
		}
	}
	testserver.Must(t, w.Finish(&archive.Team{Source: archive.SourceListmonk}))
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	return r
}

// TestStrongerSuppressionWins imports every pair of origins for one address: in one batch, in two
// batches of one import, and in an import after the first. The dry run reports the same.
func TestStrongerSuppressionWins(t *testing.T) {
	var pairs [][2]app.SuppressionOrigin
	for i := range reasons {
		for j := range reasons {
			pairs = append(pairs, [2]app.SuppressionOrigin{reasons[i], reasons[j]})
		}
	}
	stronger := func(i int) app.SuppressionOrigin { return reasons[max(i/len(reasons), i%len(reasons))] }
	for name, between := range map[string]int{"in one set": 0, "in two sets": 700, "over what stands": -1} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) { strongerReasons(t, pairs, between, stronger) })
		})
	}
}

func strongerReasons(t *testing.T, pairs [][2]app.SuppressionOrigin, between int, stronger func(i int) app.SuppressionOrigin) {
	t.Helper()
	w := testserver.New(t)
	team, err := w.Services.Teams.FindTeam(t.Context(), "")
	testserver.Must(t, err)
	var imports []*archive.Reader
	if between < 0 {
		first, second := make([][2]app.SuppressionOrigin, len(pairs)), make([][2]app.SuppressionOrigin, len(pairs))
		for i := range pairs {
			first[i][0], second[i][0] = pairs[i][0], pairs[i][1]
		}
		imports = []*archive.Reader{suppressionsOf(t, 0, first), suppressionsOf(t, 0, second)}
	} else {
		imports = []*archive.Reader{suppressionsOf(t, between, pairs)}
	}
	for _, r := range imports {
		plan, err := w.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{})
		testserver.Must(t, err)
		done, err := w.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: true})
		testserver.Must(t, err)
		if plan.Suppressions != done.Suppressions {
			t.Errorf("the plan says %+v, what was done is %+v", plan.Suppressions, done.Suppressions)
		}
		again, err := w.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: true})
		if testserver.Must(t, err); again.Suppressions != (transfer.SuppressionCounts{}) {
			t.Errorf("once more changes %+v", again.Suppressions)
		}
	}
	for i, pair := range pairs {
		if s := w.Suppression(fmt.Sprintf("p%d@xn--bcher-kva.example", i)); s.Origin != stronger(i) {
			t.Errorf("%v gives %s", pair, s.Origin)
		}
	}
}

// TestStrongerSuppressionWinsInAPI adds every pair by the API, one by one and as a batch. Id and
// time are those of the first.
func TestStrongerSuppressionWinsInAPI(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t)
		for i := range reasons {
			for j := range reasons {
				email := fmt.Sprintf("p%d-%d@bücher.example", i, j)
				first, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: email, Origin: reasons[i]})
				testserver.Must(t, err)
				second, err := w.Services.Suppressions.AddSuppressions(t.Context(), w.Key, app.SuppressionBatch{Emails: []string{email}, Origin: reasons[j]})
				testserver.Must(t, err)
				want := reasons[max(i, j)]
				if now := w.Suppression(email); second[0].ID != first.ID || second[0].Origin != want || now.Origin != want || now.ID != first.ID || !now.CreatedAt.Equal(first.CreatedAt) {
					t.Errorf("%s, then %s: %+v, %+v", reasons[i], reasons[j], second[0], now)
				}
			}
		}
	})
}
