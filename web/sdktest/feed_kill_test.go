package sdktest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	feedsToKill = 5
	// feedRound bounds the time until a server that starts has read its due feeds: it looks each 15 s.
	feedRound = time.Minute
)

// makeDue makes all feeds due. The server is stopped.
const makeDue = `import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1])
c.execute("UPDATE feeds SET next_at = ? WHERE state = 'active'", (int(time.time() * 1000) - 1,))
c.commit()`

// blog is a server with feeds, whose items grow.
type blog struct {
	*httptest.Server
	items atomic.Int64
	asked chan int // receives the number of each feed that is asked for; nil: nobody looks
}

func newBlog(t *testing.T) *blog {
	b := &blog{asked: make(chan int, 1000)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var feed int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d.xml", &feed); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>Blog</title>`)
		for n := b.items.Load(); n > 0; n-- {
			fmt.Fprintf(w, `<item><title>[f%di%d]</title><guid>%d</guid><pubDate>%s</pubDate></item>`, feed, n, n, time.Now().Add(time.Hour).UTC().Format(time.RFC1123Z))
		}
		fmt.Fprint(w, `</channel></rss>`)
		b.asked <- feed
	}))
	t.Cleanup(b.Close)
	return b
}

// newFeeds makes feeds of the blog, of which every other one is sent.
func newFeeds(t *testing.T, api client, b *blog) {
	t.Helper()
	var topic, template struct{ ID string }
	status, body := api.do(t, "POST", "/topics", map[string]any{"name": "News", "default_subscription": "opt_in"})
	if status != http.StatusCreated || json.Unmarshal(body, &topic) != nil {
		t.Fatalf("POST /topics: %d %s", status, body)
	}
	status, body = api.do(t, "POST", "/templates", map[string]any{"name": "Feed", "subject": "News", "from": "News <a@example.test>", "syntax": "liquid",
		"html": `{% for item in items %}<p>{{ item.title }}</p>{% endfor %}<a href="{{{UNSUBSCRIBE_URL}}}">out</a>`, "variables": []map[string]any{{"key": "items", "type": "list"}}})
	if status/100 != 2 || json.Unmarshal(body, &template) != nil {
		t.Fatalf("POST /templates: %d %s", status, body)
	}
	if status, body = api.do(t, "POST", "/templates/"+template.ID+"/publish", nil); status != http.StatusOK {
		t.Fatalf("publish: %d %s", status, body)
	}
	for n := range feedsToKill {
		status, body := api.do(t, "POST", "/feeds", map[string]any{"url": fmt.Sprintf("%s/%d.xml", b.URL, n), "topic_id": topic.ID, "template_id": template.ID,
			"schedule": "daily 09:00", "mode": []string{"draft", "send"}[n%2]})
		if status != http.StatusCreated {
			t.Fatalf("POST /feeds: %d %s", status, body)
		}
	}
}

// itemsIn counts in how many broadcasts each item is.
func itemsIn(t *testing.T, api client) (counts map[string]int, broadcasts int) {
	t.Helper()
	counts = map[string]int{}
	pattern := regexp.MustCompile(`\[f\d+i\d+\]`)
	for after := ""; ; {
		var page struct {
			Data    []broadcastState `json:"data"`
			HasMore bool             `json:"has_more"`
		}
		api.get(t, "/broadcasts?limit=100"+after, &page)
		for _, b := range page.Data {
			var whole struct{ HTML string }
			api.get(t, "/broadcasts/"+b.ID, &whole)
			for _, item := range pattern.FindAllString(whole.HTML, -1) {
				counts[item]++
			}
			after = "&after=" + b.ID
		}
		broadcasts += len(page.Data)
		if !page.HasMore {
			return counts, broadcasts
		}
	}
}

// TestKillDuringFeeds kills the server while it makes broadcasts of due feeds. At the end each item is in exactly
// one broadcast.
func TestKillDuringFeeds(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	b := newBlog(t)
	in := startBare(t, "--rate-limit", "0", "--fetch-allow", "127.0.0.0/8")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	newFeeds(t, api, b)
	rounds := 20
	if *killRounds > 0 {
		rounds = *killRounds
	}
	for range rounds {
		in.kill(t)
		b.items.Add(1)
		if out, err := exec.Command(python, "-c", makeDue, in.db).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for len(b.asked) > 0 {
			<-b.asked
		}
		in.serve(t)
		for n := rand.IntN(feedsToKill); n >= 0; n-- {
			select {
			case <-b.asked:
			case <-time.After(feedRound):
				t.Fatal("no feed is asked for")
			}
		}
		afterRandom(15 * time.Millisecond)
	}
	in.kill(t)
	if out, err := exec.Command(python, "-c", makeDue, in.db).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in.serve(t)
	want := rounds * feedsToKill
	var broadcasts int
	eventually(t, feedRound, "each item is in a broadcast", func() (bool, string) {
		var counts map[string]int
		counts, broadcasts = itemsIn(t, api)
		for item, n := range counts {
			if n != 1 {
				t.Fatalf("%s is in %d broadcasts", item, n)
			}
		}
		return len(counts) == want, fmt.Sprintf("%d of %d", len(counts), want)
	})
	t.Logf("%d kills, %d items of %d feeds in %d broadcasts", rounds, want, feedsToKill, broadcasts)
	if log := string(in.log(t)); strings.Contains(log, "level=ERROR") {
		t.Errorf("%s", log)
	}
	in.checkFiles(t)
}
