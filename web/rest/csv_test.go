package rest

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/web/rest/openapi"
)

func TestPrefersCSV(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/*": false, "application/json": false, "text/csv": true, "TEXT/CSV; header=present": true,
		"text/csv;q=0": false, "text/csv;q=0.5, application/json": false, "application/json;q=0.5, text/csv": true, "text/csv, application/json": true,
		"application/json, text/csv": false, "*/*, text/csv;q=0.1": true, "text/csv;q=x, application/json": false, "text/html, text/csv;q=0.9, */*;q=0.8": true,
	} {
		if got := prefersCSV(http.Header{"Accept": {accept}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

type plainText string

type innerRow struct {
	A    string   `json:"a"`
	List []string `json:"list"`
}

type embeddedRow struct {
	ID string `json:"id"`
}

type csvRow struct {
	embeddedRow
	Text    string            `json:"text"`
	Kind    plainText         `json:"kind"`
	Null    *string           `json:"null"`
	Number  int               `json:"number"`
	Share   float64           `json:"share"`
	Omitted int               `json:"omitted,omitempty"`
	Yes     bool              `json:"yes"`
	Inner   innerRow          `json:"inner"`
	Gone    *innerRow         `json:"gone"`
	Objects []innerRow        `json:"objects"`
	Map     map[string]string `json:"map"`
	Any     any               `json:"any"`
	At      time.Time         `json:"at"`
	Hidden  string            `json:"-"`
}

func TestRowCells(t *testing.T) {
	row := csvRow{embeddedRow: embeddedRow{"x"}, Text: "a \"b\",\r\nc", Kind: "=1", Number: -5, Share: -0.25, Yes: true,
		Inner: innerRow{A: "+1", List: []string{"=x", "y"}}, Objects: []innerRow{{A: "<q>"}}, Map: map[string]string{"k": "v"}, Any: "@cmd",
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	want := [][2]string{{"id", "x"}, {"text", "a \"b\",\r\nc"}, {"kind", "'=1"}, {"null", ""}, {"number", "-5"}, {"share", "-0.25"}, {"omitted", ""}, {"yes", "true"},
		{"inner.a", "'+1"}, {"inner.list", "'=x; y"}, {"gone.a", ""}, {"gone.list", ""}, {"objects", `[{"a":"<q>","list":null}]`}, {"map", `{"k":"v"}`},
		{"any", "'@cmd"}, {"at", "2026-01-02T03:04:05Z"}}
	var got [][2]string
	for _, c := range columnsOf(reflect.TypeFor[csvRow]()) {
		text, err := c.value(reflect.ValueOf(row))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, [2]string{c.name, text})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFormulasAreDisarmed(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "a=1": "a=1", "-5": "'-5", "=1+1": "'=1+1", "+49": "'+49", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t'=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1",
		"＝1": "'＝1", "'=1": "'=1", "\xff=": "\uFFFD=",
	} {
		if got := archive.EscapeFormula(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	for v, want := range map[any]string{-5: "-5", -0.5: "-0.5", int64(-7): "-7"} {
		if got, err := cell(reflect.ValueOf(v)); err != nil || got != want {
			t.Errorf("the number %v became %q, %v", v, got, err)
		}
	}
}

// numberRow is a row of the list of the tests.
type numberRow struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// numberList is a list of rows that count down to 1.
type numberList struct {
	rows  int
	pages atomic.Int32
	page  func(after int) error // called before a page; nil: nothing
}

func (n *numberList) list(_ context.Context, key *app.Key, in *PageParams) (*ListOutput[numberRow], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	n.pages.Add(1)
	next := n.rows
	if page.After != "" {
		next, _ = strconv.Atoi(page.After[24:])
		next--
	}
	if n.page != nil {
		if err := n.page(next); err != nil {
			return nil, err
		}
	}
	var rows []int
	for ; next > 0 && len(rows) < page.Limit; next-- {
		rows = append(rows, next)
	}
	return NewList(rows, next > 0, func(i *int) numberRow {
		return numberRow{fmt.Sprintf("01920000-0000-7000-8000-%012d", *i), "team " + key.TeamID}
	}), nil
}

func (n *numberList) serve(t *testing.T, change ...func(*Config)) *fixture {
	b := newFixture(t, change...)
	Register(b.handler, Route{FreshExport: true}, openapi.Operation{OperationID: "list-numbers", Method: "GET", Path: "/numbers/{x}/of"}, n.list2)
	return b
}

func (n *numberList) list2(ctx context.Context, key *app.Key, in *struct {
	X string `path:"x"`
	PageParams
}) (*ListOutput[numberRow], error) {
	return n.list(ctx, key, &in.PageParams)
}

func askCSV(t testing.TB, h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
	r.Header.Set("Authorization", "Bearer k")
	r.Header.Set("Accept", "text/csv")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestExportStreamsAllPages(t *testing.T) {
	n := &numberList{rows: 1234}
	b := n.serve(t)
	for query, rows := range map[string]int{
		"": 1234, "?limit=150": 150, "?limit=100": 100, "?limit=5000": 1234, "?after=01920000-0000-7000-8000-000000000301": 300,
		"?after=01920000-0000-7000-8000-000000000301&limit=7": 7, "?after=01920000-0000-7000-8000-000000000001": 0,
	} {
		w := askCSV(t, b.handler, "/numbers/7/of"+query)
		wantStatus(t, w, 200)
		records, err := csv.NewReader(w.Body).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != rows+1 || !slices.Equal(records[0], []string{"id", "text"}) {
			t.Errorf("%q: %d lines, the first %q", query, len(records), records[0])
		}
		for i, r := range records[1:] {
			if i > 0 && r[0] >= records[i][0] {
				t.Fatalf("%q: %s stands after %s", query, r[0], records[i][0])
			}
		}
		head := w.Header()
		if head.Get("Content-Type") != csvContentType || head.Get("Content-Disposition") != `attachment; filename="of.csv"` {
			t.Errorf("%v", head)
		}
	}
	if w := askCSV(t, b.handler, "/numbers/7/of?limit=1"); w.Body.String() != "id,text\r\n01920000-0000-7000-8000-000000001234,team \r\n" {
		t.Errorf("%q", w.Body)
	}
	for query, text := range map[string]string{"?limit=0": "limit", "?limit=x": "limit", "?before=" + app.NewID(): "before", "?after=x": "after"} {
		wantError(t, askCSV(t, b.handler, "/numbers/7/of"+query), 422, app.CodeValidation, text)
	}
	w := askCSV(t, b.handler, "/numbers/7/of", "Accept", "*/*")
	var page list[numberRow]
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Data) != app.DefaultLimit {
		t.Errorf("as JSON: %v, %d rows", err, len(page.Data))
	}
}

// TestFailedExportIsAborted: whatever ends an export early, the client sees that the transfer
// failed, even with HTTP/1.0, where only the end of the connection ends an answer.
func TestFailedExportIsAborted(t *testing.T) {
	n := &numberList{rows: 1000, page: func(next int) error {
		if next < 500 {
			return errors.New("the disk is gone")
		}
		return nil
	}}
	b := n.serve(t)
	server := NewServer(b.handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	for _, version := range []string{"1.1", "1.0"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /numbers/1/of HTTP/%s\r\nHost: x\r\nAuthorization: Bearer k\r\nAccept: text/csv\r\n\r\n", version)
		var body []byte
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			body, err = io.ReadAll(response.Body)
		}
		if err == nil {
			t.Errorf("HTTP/%s: %d bytes pass for a whole file", version, len(body))
		}
		c.Close()
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if !strings.Contains(b.log.String(), "the disk is gone") {
		t.Errorf("the log does not say why: %s", b.log.String())
	}
	n.page = func(int) error { return app.NotFound("number") }
	wantError(t, askCSV(t, b.handler, "/numbers/1/of"), 404, app.CodeNotFound)
}

// TestStalledExportIsCut: its team can begin another then.
func TestStalledExportIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &numberList{rows: 1_000_000_000}
		b := n.serve(t)
		listener := make(pipeListener, 1)
		server := &http.Server{Handler: b.handler, WriteTimeout: time.Hour}
		go server.Serve(listener)
		client, clientEnd := net.Pipe()
		listener <- clientEnd
		if _, err := io.WriteString(client, "GET /numbers/1/of HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nAccept: text/csv\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 50_000)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		synctest.Wait()
		pages := n.pages.Load()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if b.handler.exportLimiter.exports.Usage("").Used > 0 || n.pages.Load() != pages || pages > 100 {
			t.Errorf("%v after it stopped to read: %v at work, %d pages and then %d", time.Since(start), b.handler.exportLimiter.exports.Usage(""), pages, n.pages.Load())
		}
		client.Close()
		close(listener)
		server.Close()
	})
}

// someKeys are keys by their tokens, "team/name".
type someKeys struct {
	gone   atomic.Bool
	proved time.Time
}

func (s *someKeys) Authenticate(_ context.Context, token string) (*app.Key, error) {
	if s.gone.Load() {
		return nil, app.InvalidKey()
	}
	team, _, _ := strings.Cut(token, "/")
	key := &app.Key{ID: token, TeamID: team, Permission: app.FullAccess, Role: app.RoleOwner}
	if !s.proved.IsZero() {
		key.Session = &app.Session{ID: "s", AuthenticatedAt: s.proved}
	}
	return key, nil
}

func TestExportsPerTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		n := &numberList{rows: 500, page: func(next int) error {
			if next < 300 {
				<-free
			}
			return nil
		}}
		b := n.serve(t, func(c *Config) { c.Keys = &someKeys{} })
		b.handler.exportLimiter.readSlots = make(chan struct{}, 10)
		answers := make(chan *httptest.ResponseRecorder, 3)
		ask := func(token string) { answers <- askCSV(t, b.handler, "/numbers/1/of", "Authorization", "Bearer "+token) }
		go ask("a/1")
		go ask("a/2")
		synctest.Wait()
		w := askCSV(t, b.handler, "/numbers/1/of", "Authorization", "Bearer a/3")
		wantError(t, w, 429, app.CodeRateLimitExceeded, "2 lists")
		if w.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to come back")
		}
		go ask("b/1")
		synctest.Wait()
		close(free)
		for range 3 {
			if w := <-answers; w.Code != 200 || strings.Count(w.Body.String(), "\n") != 501 {
				t.Errorf("%d with %d lines", w.Code, strings.Count(w.Body.String(), "\n"))
			}
		}
		if b.handler.exportLimiter.exports.Usage("").Used > 0 {
			t.Errorf("still counted: %v", b.handler.exportLimiter.exports.Usage(""))
		}
	})
}

func TestRevokedKeyEndsExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &someKeys{}
		n := &numberList{rows: 1_000_000, page: func(int) error { time.Sleep(100 * time.Millisecond); return nil }}
		b := n.serve(t, func(c *Config) { c.Keys = keys })
		time.AfterFunc(10*time.Second, func() { keys.gone.Store(true) })
		start := time.Now()
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("it ended with %v", p)
			}
			if took := time.Since(start); took > 12500*time.Millisecond {
				t.Errorf("it went on until %v", took)
			}
		}()
		askCSV(t, b.handler, "/numbers/1/of")
	})
}

func TestFreshExportNeedsProof(t *testing.T) {
	n := &numberList{rows: 10}
	keys := &someKeys{proved: testTime.Add(-app.ReauthenticationAge - time.Second)}
	b := n.serve(t, func(c *Config) { c.Keys = keys })
	wantError(t, askCSV(t, b.handler, "/numbers/1/of"), 403, app.CodeReauthentication)
	wantStatus(t, askCSV(t, b.handler, "/numbers/1/of", "Accept", "application/json"), 200)
	keys.proved = testTime.Add(-app.ReauthenticationAge)
	wantStatus(t, askCSV(t, b.handler, "/numbers/1/of"), 200)
}

// fakeExportLog records exports.
type fakeExportLog struct {
	got []string
	err error
}

func (n *fakeExportLog) AuditExport(ctx context.Context, team, path string, query map[string]string) error {
	n.got = append(n.got, fmt.Sprintf("%s %s %v by %s", team, path, query, app.ActorOf(ctx).Name))
	return n.err
}

func TestExportIsAuditedOnce(t *testing.T) {
	noted := &fakeExportLog{}
	n := &numberList{rows: 1000}
	b := n.serve(t, func(c *Config) { c.Keys, c.ExportLog = &someKeys{}, noted })
	askCSV(t, b.handler, "/numbers/a%40b.c/of?limit=700&foo=bar", "Authorization", "Bearer a/1")
	askCSV(t, b.handler, "/numbers/1/of?limit=0", "Authorization", "Bearer a/1")
	askCSV(t, b.handler, "/numbers/1/of", "Authorization", "Bearer a/1", "Accept", "application/json")
	if want := []string{"a /numbers/a@b.c/of map[limit:700] by a/1"}; !slices.Equal(noted.got, want) {
		t.Errorf("%q", noted.got)
	}
	noted.err = errors.New("full")
	wantError(t, askCSV(t, b.handler, "/numbers/1/of"), 500, app.CodeInternal)
}
