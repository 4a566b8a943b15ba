package transfer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/testing/testserver"
)

// A topic keeps its archive with its issues. An archive that the topic does not have here takes no issues. A second
// import adds nothing.
func TestArchivesMove(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		w.SQL(`UPDATE topics SET archive_since = 1000 WHERE team_id = ?`, w.Key.TeamID)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		file := filepath.Join(dir, "issues.json")
		text, err := os.ReadFile(file)
		testserver.Must(t, err)
		testserver.Must(t, os.WriteFile(file, bytes.Replace(text, []byte("<p>mine</p>"), []byte("<p onclick='x()'>mine</p><script>x()</script>"), 1), 0o600))
		to, report := moved(t, dir)
		if report.Issues != (transfer.ItemCounts{New: 1}) {
			t.Errorf("moved %+v, %v", report.Issues, report.Cannot)
		}
		if got := to.SQL(`SELECT topic_archive || ' ' || archive_since || ' ' || html FROM topics JOIN issues ON topic_id = topics.id`); !slices.Equal(got, []string{"unlisted 1000 <p>mine</p>"}) {
			t.Errorf("the archive is %q", got)
		}
		if again := imported(t, to, dir, true); again.Issues != (transfer.ItemCounts{Existing: 1}) {
			t.Errorf("again: %+v", again.Issues)
		}
		topics, _, err := to.Services.Topics.ListTopics(t.Context(), to.Key, app.Page{Limit: 10})
		testserver.Must(t, err)
		testserver.Sleep(time.Second)
		_, err = to.Services.Topics.UpdateTopic(t.Context(), to.Key, topics[0].ID, app.TopicPatch{Archive: app.Change[app.TopicArchive]{Set: true}})
		testserver.Must(t, err)
		off := imported(t, to, dir, true)
		if got := to.SQL(`SELECT id FROM issues`); off.Issues.New != 0 || len(got) != 0 || !slices.Equal(to.SQL(`SELECT id FROM topics WHERE topic_archive IS NOT NULL`), nil) {
			t.Errorf("an archive that was ended came back: %+v %q", off.Issues, got)
		}
	})
}

// A feed that was active is held until a person lets it go on, from its position. A plan has the same numbers.
func TestMovedFeedsAreHeld(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := full(t)
		w.SQL(`UPDATE feeds SET state = 'active' WHERE team_id = ?`, w.Key.TeamID)
		dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
		old := w.SQL(`SELECT id FROM feeds WHERE team_id = ?`, w.Key.TeamID)
		w.Key = w.AddTeam("second", "second.example")
		plan := imported(t, w, dir, false)
		made := imported(t, w, dir, true)
		again := imported(t, w, dir, true)
		if len(plan.Feeds) != 1 || !reflect.DeepEqual(plan.Feeds, made.Feeds) || !reflect.DeepEqual(made.Feeds[0], transfer.Thing{Name: "https://mine.example/feed", New: true, Status: "held"}) || again.Feeds[0].New || plan.Issues != made.Issues || again.Issues.New != 0 {
			t.Errorf("planned %+v %+v, made %+v %+v, again %+v %+v", plan.Feeds, plan.Issues, made.Feeds, made.Issues, again.Feeds, again.Issues)
		}
		feeds, _, err := w.Services.Feeds.List(t.Context(), w.Key, app.Page{Limit: 10})
		testserver.Must(t, err)
		if len(feeds) != 1 || feeds[0].ID == old[0] || feeds[0].State != app.HeldFeed || feeds[0].Held != app.FeedImported {
			t.Fatalf("feeds %+v", feeds)
		}
		f := feeds[0]
		if owner := w.SQL(`SELECT team_id FROM topics WHERE id = ? UNION SELECT team_id FROM templates WHERE id = ?`, f.TopicID, f.TemplateID); !slices.Equal(owner, []string{w.Key.TeamID}) {
			t.Errorf("its topic and template belong to %q", owner)
		}
		on, err := w.Services.Feeds.Update(t.Context(), w.Key, f.ID, app.FeedPatch{State: app.ActiveFeed})
		testserver.Must(t, err)
		if !slices.Equal(on.Position.Seen, []string{"mine1", "mine2"}) || !on.Position.Since.Equal(f.Position.Since) || on.Held != "" {
			t.Errorf("it continues from %+v, was %+v", on.Position, f.Position)
		}
	})
}
