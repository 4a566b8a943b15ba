package audience_test

import (
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestCountReachWithTopic(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	w.AddSubscribers(3)
	w.AddContact("away@example.net", true)
	segment := w.AddSegment(testserver.FilterOn("email", app.OpContains, "@"))
	chosen, given := w.AddTopic("Only who chose it", app.OptOut, app.PublicTopic), w.AddTopic("News", app.OptIn, app.PublicTopic)
	for topic, want := range map[string]int{"": 3, given.ID: 3, chosen.ID: 0} {
		p, err := w.Services.Audience.Previews.CountReach(t.Context(), w.Key, segment.ID, topic)
		testserver.Must(t, err)
		if p.Count != want || !p.Exact {
			t.Errorf("with the topic %q a broadcast reaches %d, want %d", topic, p.Count, want)
		}
	}
	_, err := w.Services.Audience.Previews.CountReach(t.Context(), w.AddTeam("Other", "other.example"), segment.ID, "")
	testserver.WantCode(t, err, app.CodeNotFound)
}
