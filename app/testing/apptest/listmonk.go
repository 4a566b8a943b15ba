package apptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Listmonk is a fake of listmonk's HTTP API for reading: with its documented formats, and the
// pages, statuses and authentication of a version. It is an http.Handler, and an http.RoundTripper
// for tests without a network.
type Listmonk struct {
	Version     int // 2 to 3: only Basic, at most 50 items a page; 4 and later: API users
	User, Token string
	Denied      string   // a path that the user's role may not read
	Role        []string // permissions of the user's role; nil: not reported
	StaleTotal  int      // of subscribers, as an outdated view reports; 0: the true number

	Lists       []LMList
	Subscribers []LMSubscriber
	Bounces     []LMBounce
	Templates   []LMTemplate
	Campaigns   []LMCampaign

	Clock   time.Duration // offset of its clock
	PerPage int           // maximum page size; 0: 50 before version 4, later unlimited

	// Fault is called for each request, from 1, and returns the fault: "", "drop", "half" (of an
	// answer), "proxy" (an HTML page with status 200), or a status like "502".
	Fault func(n int, r *http.Request) string

	mu       sync.Mutex
	requests int
}

// LMList is a list.
type LMList struct {
	ID                int
	Name, Type, Optin string
	Description       string
	Archived          bool
}

// LMMember is a membership of a subscriber.
type LMMember struct {
	List    int
	Status  string
	Changed time.Time
}

// LMSubscriber is a subscriber.
type LMSubscriber struct {
	ID                  int
	Email, Name, Status string
	Attribs             string // JSON; empty: {}
	Lists               []LMMember
	Created, Updated    time.Time
}

// LMBounce is a bounce.
type LMBounce struct {
	ID          int
	Type, Email string
	Created     time.Time
}

// LMTemplate is a template.
type LMTemplate struct {
	ID                        int
	Name, Type, Subject, Body string
	Source                    string // document of the visual editor
	Default                   bool
}

// LMCampaign is a campaign.
type LMCampaign struct {
	ID                        int
	Name, Subject, From, Body string
	ContentType, Status, Type string
	AltBody, Source           *string
	Messenger                 string
	Template                  int // 0: null
	Lists                     []int
	Tags                      []string
	Media, Headers            int
}

// lmEpoch is before the time of a synctest bubble.
var lmEpoch = time.Date(1999, 2, 10, 22, 7, 16, 199433000, time.UTC)

// Requests returns the number of requests.
func (l *Listmonk) Requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// Change changes the data between two answers.
func (l *Listmonk) Change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
}

// RoundTrip implements http.RoundTripper.
func (l *Listmonk) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec, cut := httptest.NewRecorder(), false
	func() {
		defer func() {
			if p := recover(); p != nil {
				if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				cut = true
			}
		}()
		l.ServeHTTP(rec, r)
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if cut && rec.Body.Len() == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	answer := rec.Result()
	answer.Request = r
	if cut {
		answer.Body = io.NopCloser(io.MultiReader(rec.Body, broken{}))
	}
	return answer, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// ServeHTTP implements http.Handler.
func (l *Listmonk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.requests++
	n := l.requests
	l.mu.Unlock()
	fault := ""
	if l.Fault != nil {
		fault = l.Fault(n, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(l.Clock).UTC().Format(http.TimeFormat))
	switch fault {
	case "":
	case "drop":
		panic(http.ErrAbortHandler)
	case "proxy":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><html><title>Please wait</title></html>")
		return
	case "half":
		rec := httptest.NewRecorder()
		l.answer(rec, r)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		panic(http.ErrAbortHandler)
	default:
		status, _ := strconv.Atoi(fault)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<html><body><h1>%d %s</h1><hr>nginx</body></html>", status, http.StatusText(status))
		return
	}
	l.answer(w, r)
}

func (l *Listmonk) writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func (l *Listmonk) answer(w http.ResponseWriter, r *http.Request) {
	switch why := l.signedIn(r); {
	case why != "" && l.Version < 4:
		w.Header().Set("WWW-Authenticate", "basic realm=Restricted")
		l.writeJSON(w, http.StatusUnauthorized, map[string]string{"message": why})
		return
	case why != "":
		l.writeJSON(w, http.StatusForbidden, map[string]string{"message": why})
		return
	case l.Denied == r.URL.Path:
		l.writeJSON(w, http.StatusForbidden, map[string]string{"message": "permission denied: " + strings.TrimPrefix(l.Denied, "/api/") + ":get_all"})
		return
	}
	switch r.URL.Path {
	case "/api/lists":
		l.page(w, r, len(l.Lists), 0, func(i int) any { return l.list(l.Lists[i]) })
	case "/api/subscribers":
		l.subscribers(w, r)
	case "/api/profile":
		if l.Version < 4 || l.Role == nil {
			l.writeJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
			return
		}
		l.writeJSON(w, http.StatusOK, map[string]any{"data": map[string]any{"username": l.User, "user_role": map[string]any{"id": 2, "name": "Importers", "permissions": l.Role}}})
	case "/api/bounces":
		l.page(w, r, len(l.Bounces), 0, func(i int) any { return l.bounce(l.Bounces[i]) })
	case "/api/campaigns":
		l.page(w, r, len(l.Campaigns), 0, func(i int) any { return l.campaign(l.Campaigns[i]) })
	case "/api/templates":
		out := []any{}
		for _, t := range l.Templates {
			out = append(out, l.template(t))
		}
		l.writeJSON(w, http.StatusOK, map[string]any{"data": out})
	default:
		l.writeJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
	}
}

// signedIn returns why a request is not authenticated; empty: it is.
func (l *Listmonk) signedIn(r *http.Request) string {
	user, password, basic := r.BasicAuth()
	if basic && user == l.User && password == l.Token {
		return ""
	}
	switch token := r.Header.Get("Authorization"); {
	case l.Version < 4:
		return "Unauthorized"
	case token == "token "+l.User+":"+l.Token:
		return ""
	case token == "":
		return "invalid session"
	}
	return "invalid API credentials"
}

// page answers with a page of n ordered items.
func (l *Listmonk) page(w http.ResponseWriter, r *http.Request, n, total int, item func(i int) any) {
	q := r.URL.Query()
	number, _ := strconv.Atoi(q.Get("page"))
	size, _ := strconv.Atoi(q.Get("per_page"))
	if number = max(number, 1); size < 1 {
		size = 20
	}
	if l.PerPage > 0 {
		size = min(size, l.PerPage)
	} else if l.Version < 4 {
		size = min(size, 50)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if q.Get("order") != "asc" {
		slices.Reverse(order)
	}
	results := []any{}
	for _, i := range order[min(n, (number-1)*size):min(n, number*size)] {
		results = append(results, item(i))
	}
	if total == 0 {
		total = n
	}
	data := map[string]any{"results": results, "total": total, "per_page": size, "page": number, "query": ""}
	if len(results) == 0 {
		data = map[string]any{"results": results, "total": 0, "per_page": 0, "page": 0, "query": "", "search": ""}
	}
	l.writeJSON(w, http.StatusOK, map[string]any{"data": data})
}

// lmUUID returns a deterministic UUID.
func lmUUID(kind, id int) string { return fmt.Sprintf("%08d-4b08-4697-bcfc-%012d", kind, id) }

func stamp(t time.Time) string {
	if t.IsZero() {
		t = lmEpoch
	}
	return t.In(time.FixedZone("", 3600)).Format("2006-01-02T15:04:05.999999-07:00")
}

func (l *Listmonk) list(x LMList) map[string]any {
	out := map[string]any{"id": x.ID, "uuid": lmUUID(1, x.ID), "name": x.Name, "type": x.Type, "optin": x.Optin, "tags": []string{"test"},
		"created_at": stamp(time.Time{}), "updated_at": stamp(time.Time{}), "subscriber_count": 2}
	if l.Version >= 3 {
		out["description"], out["subscriber_statuses"] = x.Description, map[string]int{"unconfirmed": 2}
	}
	if l.Version >= 5 {
		out["status"] = "active"
		if x.Archived {
			out["status"] = "archived"
		}
	}
	return out
}

func (l *Listmonk) subscribers(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var list []LMSubscriber
	for _, s := range l.Subscribers {
		on := len(q["list_id"]) == 0
		for _, m := range s.Lists {
			wanted := q.Get("subscription_status")
			on = on || slices.Contains(q["list_id"], strconv.Itoa(m.List)) && (wanted == "" || wanted == m.Status)
		}
		if on {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b LMSubscriber) int {
		switch q.Get("order_by") { // other values mean the id
		case "email":
			return strings.Compare(a.Email, b.Email)
		case "name":
			return strings.Compare(a.Name, b.Name)
		case "created_at":
			return strings.Compare(stamp(a.Created), stamp(b.Created))
		case "updated_at":
			return strings.Compare(stamp(a.Updated), stamp(b.Updated))
		}
		return a.ID - b.ID
	})
	total := 0
	if len(q["list_id"]) == 0 {
		total = l.StaleTotal
	}
	l.page(w, r, len(list), total, func(i int) any { return l.subscriber(list[i]) })
}

func (l *Listmonk) subscriber(s LMSubscriber) map[string]any {
	lists := []any{}
	for _, m := range s.Lists {
		at := slices.IndexFunc(l.Lists, func(x LMList) bool { return x.ID == m.List })
		if at < 0 {
			continue
		}
		one := l.list(l.Lists[at])
		delete(one, "subscriber_count")
		delete(one, "subscriber_statuses")
		one["subscription_status"] = m.Status
		if l.Version >= 3 {
			one["subscription_created_at"], one["subscription_updated_at"], one["subscription_meta"] = stamp(m.Changed), stamp(m.Changed), map[string]any{}
		}
		lists = append(lists, one)
	}
	attribs := s.Attribs
	if attribs == "" {
		attribs = "{}"
	}
	return map[string]any{"id": s.ID, "uuid": lmUUID(2, s.ID), "email": s.Email, "name": s.Name, "status": s.Status, "attribs": json.RawMessage(attribs),
		"lists": lists, "created_at": stamp(s.Created), "updated_at": stamp(s.Updated)}
}

func (l *Listmonk) bounce(b LMBounce) map[string]any {
	return map[string]any{"id": b.ID, "type": b.Type, "source": "api", "meta": map[string]any{}, "created_at": stamp(b.Created), "email": b.Email,
		"subscriber_uuid": lmUUID(2, b.ID), "subscriber_id": b.ID, "campaign": map[string]any{"id": 1, "name": "Test campaign"}}
}

func (l *Listmonk) template(t LMTemplate) map[string]any {
	out := map[string]any{"id": t.ID, "name": t.Name, "type": t.Type, "subject": t.Subject, "body": t.Body, "is_default": t.Default,
		"created_at": stamp(time.Time{}), "updated_at": stamp(time.Time{})}
	if l.Version >= 5 {
		out["body_source"] = nil
		if t.Source != "" {
			out["body_source"] = t.Source
		}
	}
	return out
}

func (l *Listmonk) campaign(c LMCampaign) map[string]any {
	lists := []any{}
	for _, id := range c.Lists {
		name := "a list that is gone"
		if at := slices.IndexFunc(l.Lists, func(x LMList) bool { return x.ID == id }); at >= 0 {
			name = l.Lists[at].Name
		} else {
			id = 0
		}
		lists = append(lists, map[string]any{"id": id, "name": name})
	}
	many := func(n int) []any { // files and headers
		out := []any{}
		for i := range n {
			out = append(out, map[string]any{"x-one": strconv.Itoa(i)})
		}
		return out
	}
	out := map[string]any{"id": c.ID, "uuid": lmUUID(3, c.ID), "name": c.Name, "subject": c.Subject, "from_email": c.From, "body": c.Body,
		"altbody": c.AltBody, "content_type": c.ContentType, "type": c.Type, "status": c.Status, "messenger": c.Messenger, "lists": lists, "tags": c.Tags,
		"template_id": nil, "send_at": nil, "started_at": nil, "views": 0, "clicks": 0, "bounces": 0, "to_send": 0, "sent": 0,
		"created_at": stamp(time.Time{}), "updated_at": stamp(time.Time{})}
	if c.Template > 0 {
		out["template_id"] = c.Template
	}
	if l.Version >= 3 {
		out["media"], out["headers"], out["archive"] = many(c.Media), many(c.Headers), false
	}
	if l.Version >= 5 {
		out["body_source"] = c.Source
	}
	return out
}
