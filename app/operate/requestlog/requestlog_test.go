package requestlog_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/requestlog"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// made counts the ids of newID.
var made atomic.Int64

// newID returns an id of the synctest bubble's time: app.NewID never goes back, and other bubbles
// have other times.
func newID() string { return app.FirstID(time.Now())[:24] + fmt.Sprintf("%012x", made.Add(1)) }

// note stores a request of a key and returns its id.
func note(w *testserver.Server, key *app.Key, method, endpoint string, status int) string {
	e := &requestlog.Entry{ID: newID(), TeamID: key.TeamID, KeyID: key.ID, Method: method, Endpoint: endpoint, Status: status, Took: time.Millisecond, UserAgent: "test/1"}
	if status >= 400 {
		e.Error = "not_found"
	}
	w.Services.RequestLog.Note(e)
	return e.ID
}

// listed returns the requests that match a query, one on each line.
func listed(t *testing.T, w *testserver.Server, key *app.Key, q requestlog.Query, page app.Page) string {
	t.Helper()
	if page.Limit == 0 {
		page.Limit = 100
	}
	found, err := w.Services.RequestLog.ListLogs(t.Context(), key, q, page)
	testserver.Must(t, err)
	var out []string
	for _, e := range found.Entries {
		out = append(out, fmt.Sprintf("%s %s %d", e.Method, e.Endpoint, e.Status))
	}
	if found.More {
		out = append(out, "more")
	}
	return strings.Join(out, "\n")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestRequestsAreStored(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		other := w.AddTeam("others", "others.test")
		start := time.Now()
		first := note(w, w.Key, "POST", "/emails", 200)
		note(w, other, "GET", "/domains", 200)
		testserver.SleepAndSettle(time.Minute)
		note(w, w.Key, "GET", "/emails/x", 404)
		note(w, w.Key, "POST", "/emails", 422)
		testserver.SleepAndSettle(2 * requestlog.FlushEvery)

		all := "POST /emails 422\nGET /emails/x 404\nPOST /emails 200"
		want(t, "all", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), all)
		want(t, "another team's", listed(t, w, other, requestlog.Query{}, app.Page{}), "GET /domains 200")
		for what, c := range map[string]struct {
			q    requestlog.Query
			want string
		}{
			"method":     {requestlog.Query{Method: "get"}, "GET /emails/x 404"},
			"status":     {requestlog.Query{Status: "422"}, "POST /emails 422"},
			"class":      {requestlog.Query{Status: "4xx"}, "POST /emails 422\nGET /emails/x 404"},
			"endpoint":   {requestlog.Query{Endpoint: "/emails/"}, "GET /emails/x 404"},
			"key":        {requestlog.Query{KeyID: w.Key.ID}, all},
			"other key":  {requestlog.Query{KeyID: other.ID}, ""},
			"after":      {requestlog.Query{CreatedAfter: start.Add(time.Second).Format(time.RFC3339)}, "POST /emails 422\nGET /emails/x 404"},
			"before":     {requestlog.Query{CreatedBefore: start.Add(time.Second).Format(time.RFC3339)}, "POST /emails 200"},
			"an email's": {requestlog.Query{EmailID: newID()}, ""},
		} {
			want(t, what, listed(t, w, w.Key, c.q, app.Page{}), c.want)
		}
		want(t, "a page", listed(t, w, w.Key, requestlog.Query{Endpoint: "/emails"}, app.Page{Limit: 2}), "POST /emails 422\nGET /emails/x 404\nmore")
		e, err := w.Services.RequestLog.GetLog(t.Context(), w.Key, first)
		if err != nil || !e.CreatedAt().Equal(start.Truncate(time.Millisecond)) || e.Took != time.Millisecond {
			t.Errorf("the first is %+v of %s, %v", e, e.CreatedAt(), err)
		}
		_, err = w.Services.RequestLog.GetLog(t.Context(), other, first)
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		for _, q := range []requestlog.Query{{Method: "SING"}, {Status: "abc"}, {Status: "4xxx"}, {Endpoint: "emails"}, {KeyID: "x"}, {EmailID: "x"}, {CreatedAfter: "now"}, {CreatedBefore: "now"}} {
			_, err := w.Services.RequestLog.ListLogs(t.Context(), w.Key, q, app.Page{Limit: 1})
			testserver.WantCode(t, err, app.CodeValidation)
		}
	})
}

func TestRequestsExpireAfter30Days(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		note(w, w.Key, "GET", "/old", 200)
		testserver.SleepAndSettle(requestlog.Retention - time.Minute)
		note(w, w.Key, "GET", "/new", 200)
		w.Services.RequestLog.Flush(t.Context())
		testserver.Must(t, w.Services.RequestLog.Purge(t.Context(), []string{w.Key.TeamID}))
		want(t, "a minute before", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), "GET /new 200\nGET /old 200")
		testserver.SleepAndSettle(2 * time.Minute)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		want(t, "a minute after", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), "GET /new 200")
	})
}

func TestRequestsOfErasedAddressAreRemoved(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		other := w.AddTeam("others", "others.test")
		plain, encoded := "/contacts/"+testserver.ErasedAddress, "/contacts/"+strings.NewReplacer("@", "%40", ".", "%2E").Replace(testserver.ErasedAddress)
		for _, path := range []string{plain, encoded, "/contacts/x" + testserver.ErasedAddress, "/emails"} {
			note(w, w.Key, "GET", path, 200)
		}
		note(w, other, "GET", plain, 200)
		testserver.SleepAndSettle(2 * requestlog.FlushEvery)
		w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		late := &requestlog.Entry{ID: newID(), TeamID: w.Key.TeamID, Method: "DELETE", Endpoint: plain, Status: 200} // it ends after the erasure
		waiting := note(w, w.Key, "GET", "/waits/"+testserver.ErasedAddress, 200)
		w.Erase(testserver.ErasedAddress)
		w.Services.RequestLog.Note(late)
		testserver.SleepAndSettle(2 * requestlog.FlushEvery)
		want(t, "what is left", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), "GET /emails 200\nGET /contacts/x"+testserver.ErasedAddress+" 200")
		want(t, "what another team has", listed(t, w, other, requestlog.Query{}, app.Page{}), "GET "+plain+" 200")
		_, err := w.Services.RequestLog.GetLog(t.Context(), w.Key, waiting)
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}

func TestRequestLogOff(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{NoRequestLog: true}, testserver.NewRelay(nil))
		w.Start()
		note(w, w.Key, "GET", "/emails", 200)
		testserver.SleepAndSettle(2 * requestlog.FlushEvery)
		want(t, "all", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), "")
	})
}

func TestStopFlushes(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		note(w, w.Key, "GET", "/emails", 200)
		w.Stop()
		w.Open()
		want(t, "all", listed(t, w, w.Key, requestlog.Query{}, app.Page{}), "GET /emails 200")
	})
}

func TestDroppedRequestsAreLogged(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		const flood = 5000 + 7
		for range flood {
			w.Services.RequestLog.Note(&requestlog.Entry{ID: newID(), TeamID: w.Key.TeamID, Method: "GET", Endpoint: "/emails"})
		}
		_ = w.FailWrite(testserver.DiskFullError(t)) // the disk is full from now on
		w.Services.RequestLog.Flush(t.Context())
		if !w.Log.Contains("the log of requests lacks some\" requests=107") {
			t.Error("nothing was logged")
		}
		testserver.SleepAndSettle(time.Second)
		note(w, w.Key, "GET", "/emails", 200)
		w.Services.RequestLog.Flush(t.Context())
		if w.Log.Contains("requests=1 ") || w.Log.Contains("requests=4900") {
			t.Error("logged twice within a minute")
		}
	})
}

func TestLongPathsAndAgentsAreCut(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		long := strings.Repeat("a", requestlog.MaxEndpoint) + "@example.net"
		e := &requestlog.Entry{ID: newID(), TeamID: w.Key.TeamID, Method: "GET", Endpoint: "/contacts/" + long, UserAgent: "Agent " + long}
		w.Services.RequestLog.Note(e)
		w.Services.RequestLog.Flush(t.Context())
		got, err := w.Services.RequestLog.GetLog(t.Context(), w.Key, e.ID)
		if err != nil || got.Endpoint != "/contacts" || got.UserAgent != "Agent" {
			t.Errorf("kept is %+v, %v", got, err)
		}
	})
}
