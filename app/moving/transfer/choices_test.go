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

// TestDryRunCountsRepeatedChoiceOnce: the two are far apart, so that no batch has both. A listmonk
// is read twice, and a contact may have had two addresses.
func TestDryRunCountsRepeatedChoiceOnce(t *testing.T) {
	testserver.Synctest(t, countChoices)
}

func countChoices(t *testing.T) {
	const many = 1200 // more than two batches
	first := choices(t, many, app.OptIn, app.OptOut)
	s := testserver.New(t)
	team, err := s.Services.Teams.FindTeam(t.Context(), "")
	testserver.Must(t, err)
	counts := func(what string, r *archive.Reader, apply bool, want int) {
		t.Helper()
		report, err := s.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: apply})
		testserver.Must(t, err)
		if report.TopicChoices != want {
			t.Errorf("%s, apply %v: %d choices, want %d", what, apply, report.TopicChoices, want)
		}
	}
	counts("first", first, false, many+many/2)
	counts("first", first, true, many+many/2)
	counts("once more", first, false, 0)
	second := choices(t, many, app.OptOut, app.OptIn) // of which 20 opted out before
	counts("who opted in opts out", second, false, many-20)
	counts("who opted in opts out", second, true, many-20)
}

// choices returns an archive that contains everything twice: many choices about a topic, half as
// many opposite ones about another, and of 20 addresses the contrary of both.
func choices(t *testing.T, many int, opinion, other app.Subscription) *archive.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	w, err := archive.Create(dir)
	testserver.Must(t, err)
	for _, id := range []string{"1", "2"} {
		testserver.Must(t, w.Put(archive.Topics, &archive.Topic{ID: id, Name: "Topic " + id, Default: app.OptIn, Visibility: app.PublicTopic}))
	}
	put := func(topic string, n int, opinion app.Subscription) {
		testserver.Must(t, w.Put(archive.Choices, &archive.Choice{Email: fmt.Sprintf("p%d@people.example", n), TopicID: topic, Subscription: opinion}))
	}
	for range 2 {
		for n := range many {
			put("1", n, opinion)
			if n < many/2 {
				put("2", n, other)
			}
		}
		for n := range 20 {
			put("1", n, other)
			put("2", n, opinion)
		}
	}
	testserver.Must(t, w.Finish(&archive.Team{Source: archive.SourceListmonk}))
	r, err := archive.Open(dir)
	testserver.Must(t, err)
	return r
}
