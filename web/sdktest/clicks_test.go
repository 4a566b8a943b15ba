package sdktest

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
)

// clickRows are rows of recipients or of links.
type clickRows struct {
	Object  string
	HasMore bool `json:"has_more"`
	Data    []struct {
		ID           string
		Email        string
		Count        int
		URL          string
		Clicks       int
		UniqueClicks int `json:"unique_clicks"`
		ClickedLinks []struct {
			URL    string
			Clicks int
		} `json:"clicked_links"`
	}
}

func (r clickRows) emails() (out []string) {
	for _, row := range r.Data {
		out = append(out, row.Email)
	}
	return out
}

const clickTarget = "https://shop.example/june?x=1"

// clickedBroadcast sends a broadcast to Ann and Bob, and has Ann read it and
// click in it.
func clickedBroadcast(t *testing.T, w *fixture) (id string) {
	t.Helper()
	api := client{w.in.url, w.key}
	var domains domainThing
	api.get(t, "/domains", &domains)
	if status, b := api.do(t, "PATCH", "/domains/"+domains.Data[0].ID, map[string]any{"click_tracking": true}); status != http.StatusOK {
		t.Fatalf("click tracking: %d %s", status, b)
	}
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		api.do(t, "POST", "/contacts", map[string]any{"email": email})
	}
	var made broadcastThing
	_, b := api.do(t, "POST", "/broadcasts", map[string]any{
		"from": "news@example.test", "subject": "clicks", "html": `<a href="` + html.EscapeString(clickTarget) + `">June</a>`, "send": true,
	})
	nodeOutput(b).into(t, &made)
	toAnn := func(m *message) bool { return slices.Equal(m.To, []string{"ann@example.com"}) }
	mail := w.sink.wait(t, 1, time.Minute, toAnn)[0]
	match := hrefs.FindStringSubmatch(content(mail.leaves(t), "text/html"))
	if match == nil || !strings.HasPrefix(match[1], w.in.url+"/t/c/") {
		t.Fatalf("no tracked link in %s", mail.Raw)
	}
	noFollow := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	// Clicks within ten seconds of the delivery are not counted as a person's.
	eventually(t, 60*time.Second, "Ann's click counts", func() (bool, string) {
		r, err := http.NewRequest(http.MethodGet, html.UnescapeString(match[1]), nil)
		must(t, err)
		r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36")
		res, err := noFollow.Do(r)
		must(t, err)
		res.Body.Close()
		if res.Header.Get("Location") != clickTarget {
			t.Fatalf("the link leads to %q", res.Header.Get("Location"))
		}
		var links clickRows
		api.get(t, "/broadcasts/"+made.ID+"/clicked-links", &links)
		return len(links.Data) == 1, "no click yet"
	})
	return made.ID
}

// TestClickedLinksOfClients reads the same broadcast with all clients.
func TestClickedLinksOfClients(t *testing.T) {
	part(t, "clients")
	inBothModes(t, clickedLinksOfClients)
}

func clickedLinksOfClients(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true})
	id := clickedBroadcast(t, w)
	var got struct {
		Sent, Rest, Named, Clicked, Links clickRows
		Errors                            map[string]apiError
	}
	runNode(t, w.in.url, w.key, "clicks.mjs", map[string]string{"BROADCAST": id}).into(t, &got)
	both := sorted(slices.Concat(got.Sent.emails(), got.Rest.emails()))
	if !slices.Equal(both, []string{"ann@example.com", "bob@example.com"}) || !got.Sent.HasMore || got.Rest.HasMore || !slices.Equal(got.Named.emails(), []string{"bob@example.com"}) {
		t.Errorf("sent to %+v, %+v, named %+v", got.Sent, got.Rest, got.Named)
	}
	checkClicks(t, "node", got.Clicked, got.Links)
	if e := got.Errors["badType"]; e.StatusCode != 422 || e.Name != "validation_error" {
		t.Errorf("a wrong type: %+v", e)
	}
	call := w.caller(t)
	var clicked, links clickRows
	call(&clicked, "broadcasts", "recipients", id, "--type", "clicked")
	call(&links, "broadcasts", "clicked-links", id)
	checkClicks(t, "command line", clicked, links)
	resendMCPAt(t, w).checkCalls(t, []toolCall{
		{"list-broadcast-recipients", object("broadcastId", id, "type", "clicked"), "ann@example.com|" + clickTarget, "", false},
		{"list-broadcast-clicked-links", object("broadcastId", id), clickTarget, "", false},
	})
	checkGoClicks(t, w, id)
}

func checkClicks(t *testing.T, who string, clicked, links clickRows) {
	t.Helper()
	if !slices.Equal(clicked.emails(), []string{"ann@example.com"}) || clicked.Data[0].Count < 1 || len(clicked.Data[0].ClickedLinks) != 1 || clicked.Data[0].ClickedLinks[0].URL != clickTarget {
		t.Errorf("%s: clicked %+v", who, clicked)
	}
	if len(links.Data) != 1 || links.Data[0].URL != clickTarget || links.Data[0].Clicks < 1 || links.Data[0].UniqueClicks != 1 {
		t.Errorf("%s: links %+v", who, links)
	}
}

func checkGoClicks(t *testing.T, w *fixture, id string) {
	t.Helper()
	c, seen := v3Client(t, w.in.url, w.key)
	clicked, err := c.Broadcasts.Recipients(id, &resendv3.ListBroadcastRecipientsOptions{Type: resendv3.BroadcastRecipientEventTypeClicked})
	must(t, err)
	if len(clicked.Data) != 1 || clicked.Data[0].Email != "ann@example.com" || clicked.Data[0].ContactId == nil || clicked.Data[0].Count < 1 || len(clicked.Data[0].ClickedLinks) != 1 {
		t.Errorf("clicked %+v", clicked)
	}
	if links, err := c.Broadcasts.ClickedLinks(id); err != nil || len(links.Data) != 1 || links.Data[0].Url != clickTarget || links.Data[0].UniqueClicks != 1 {
		t.Errorf("links %+v, %v", links, err)
	}
	if _, err := c.Broadcasts.ClickedLinks(someID); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("links of no broadcast: %s", fmt.Sprint(err))
	}
}
