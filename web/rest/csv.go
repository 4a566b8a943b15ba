package rest

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
)

const (
	csvType = "text/csv"
	// csvContentType says with RFC 4180 section 3 that the first line has the names.
	csvContentType = "text/csv; charset=utf-8; header=present"
)

// exportsPerTeam is how many lists of one team may be on their way as CSV at once.
const exportsPerTeam = 2

const (
	recheckEvery = 2 * time.Second // how long an export goes on for a key that was revoked
	busyRetries  = 10              // for a page in mid-export that has no room, a second apart
)

// Exports notes that somebody takes a list along.
type Exports interface {
	// AuditExport appends to the audit log of a team (empty: of the server) that the list at
	// a path is exported; query is what narrows it.
	AuditExport(ctx context.Context, team, path string, query map[string]string) error
}

// table is how the pages of a list become CSV.
type table struct {
	file    string // name of the file
	data    []int  // of the body: its rows
	more    []int  // whether others follow; nil: never
	cursor  []int  // what the next page begins after; nil: the last row's id
	id      []int  // of a row
	limit   []int  // of the input; nil: there is none
	after   []int  // nil: there is one page
	before  []int  // nil: there is none
	asks    []ask  // what an export asks for that the request leaves open
	columns []column
}

// ask is a query parameter of an input with its value in exports: that of the field's tag
// csv.
type ask struct {
	field []int
	value string
}

// tableOf returns how a route's answer becomes CSV; nil: it is no list.
func tableOf(op *huma.Operation, input, output reflect.Type) *table {
	body, row := listOf(op.Method, output)
	if row == nil {
		return nil
	}
	t := &table{columns: columnsOf(row), file: fileName(op.Path), id: fieldOf(row, "json", "id"),
		data: fieldOf(body, "json", "data"), more: fieldOf(body, "json", "has_more"), cursor: fieldOf(body, "json", "searched_to"),
		limit: fieldOf(input, "query", "limit"), after: fieldOf(input, "query", "after"), before: fieldOf(input, "query", "before")}
	for _, f := range reflect.VisibleFields(input) {
		if value := f.Tag.Get("csv"); value != "" {
			t.asks = append(t.asks, ask{f.Index, value})
		}
	}
	if t.after != nil && (t.more == nil || t.id == nil && t.cursor == nil) {
		panic(fmt.Sprintf("%s: a list with pages needs has_more, and ids in its rows", op.Path))
	}
	return t
}

// listOf returns the types of a list's body and of its rows; nil: the output is no list.
func listOf(method string, output reflect.Type) (body, row reflect.Type) {
	if method != http.MethodGet || output.Kind() != reflect.Struct {
		return nil, nil
	}
	f, ok := output.FieldByName("Body")
	if !ok || f.Type.Kind() != reflect.Struct {
		return nil, nil
	}
	data, ok := f.Type.FieldByName("Data")
	if !ok || data.Type.Kind() != reflect.Slice || data.Type.Elem().Kind() != reflect.Struct {
		return nil, nil
	}
	return f.Type, data.Type.Elem()
}

// fieldOf returns where the field of a name stands; nil: there is none.
func fieldOf(t reflect.Type, tag, name string) []int {
	for _, f := range reflect.VisibleFields(t) {
		if got, _, _ := strings.Cut(f.Tag.Get(tag), ","); got == name && f.IsExported() {
			return f.Index
		}
	}
	return nil
}

// fileName is the last word of a path that is no parameter.
func fileName(path string) string {
	words := slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s[0] == '{' })
	return words[len(words)-1] + ".csv"
}

// csvNote says in the document how a list is answered as CSV.
const csvNote = "With `Accept: " + csvType + "` all rows that follow come as CSV, after a line with the names " +
	"of their members; those of objects follow a dot. A `limit`, of which there is no highest then, bounds them; `before` can't be given. " +
	"What a spreadsheet would take for a formula has a ' before it."

// prefersCSV reports whether a client asks for CSV by name and likes it better than JSON.
func prefersCSV(header http.Header) bool { return Prefers(header, csvType) }

// Prefers reports whether a request would rather have a media type than JSON.
func Prefers(header http.Header, other string) bool {
	best, is := 0.0, false
	for part := range strings.SplitSeq(strings.Join(header["Accept"], ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil || kind != other && kind != "application/json" {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			q, _ = strconv.ParseFloat(text, 64)
		}
		if q > best {
			best, is = q, kind == other
		}
	}
	return is
}

// exports bounds what lists on their way as CSV take from everybody else.
type exports struct {
	mu     sync.Mutex
	byTeam map[string]int
	turns  chan struct{} // to read a page: half of the processors do nothing else
}

func newExportLimiter() *exports {
	return &exports{byTeam: map[string]int{}, turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// begin counts an export of a team until done is called. Errors: CodeRateLimitExceeded.
func (e *exports) begin(team string) (done func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byTeam[team] >= exportsPerTeam {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: 5 * time.Second,
			Message: fmt.Sprintf("Your team is downloading %d lists as CSV, which is the maximum; wait until one has finished", exportsPerTeam)}
	}
	e.byTeam[team]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.byTeam[team]--; e.byTeam[team] == 0 {
			delete(e.byTeam, team)
		}
	}, nil
}

// export is a list on its way as CSV.
type export struct {
	h    *Handler
	x    *Exchange
	in   reflect.Value       // the input of the list, which asks for page after page
	list func() (any, error) // the page that in asks for
	left int                 // rows that may still come; negative: any number
	sent bool                // a part of the answer is out
	row  []string
	buf  bytes.Buffer // rows that are not sent yet
	seen time.Time    // when the key was last looked at
}

// export answers with a list as CSV. Errors are those from before its first byte: an
// answer that can't be completed is broken off, so that nobody takes a part for the whole.
func (h *Handler) export(ctx context.Context, x *Exchange, in any, list func() (any, error)) error {
	rt := x.route
	e := &export{h: h, x: x, in: reflect.ValueOf(in).Elem(), list: list, row: make([]string, len(rt.table.columns)), seen: time.Now()}
	if err := e.bound(); err != nil {
		return err
	}
	if rt.FreshExport && !x.Key.RecentlyAuthenticated(h.now()) {
		return app.ReauthenticationRequired()
	}
	done, err := h.exports.begin(x.Key.TeamID)
	if err != nil {
		return err
	}
	defer done()
	more, err := e.page(ctx)
	if err != nil {
		return err
	}
	if err := e.note(ctx); err != nil {
		return err
	}
	head := x.Header()
	head.Set("Content-Type", csvContentType)
	head.Set("Content-Disposition", `attachment; filename="`+rt.table.file+`"`)
	e.follow(ctx, more)
	x.answered = true
	return nil
}

// note puts the export into the audit log.
func (e *export) note(ctx context.Context) error {
	if e.h.exported == nil {
		return nil
	}
	query := map[string]string{}
	values, _ := url.ParseQuery(e.x.query) // what can't be read narrows nothing
	for _, name := range e.x.route.query.known {
		if values.Has(name) {
			query[name] = values.Get(name)
		}
	}
	return e.h.exported.AuditExport(app.WithActor(ctx, e.x.actor), e.x.Key.TeamID, e.x.path, query)
}

// follow sends the page that was read, and all that follow.
func (e *export) follow(ctx context.Context, more bool) {
	e.sent = true
	for {
		if err := e.send(); err != nil {
			e.abort(slog.LevelDebug, err) // the client's doing
		}
		if !more {
			return
		}
		err := e.standing(ctx)
		if err == nil {
			more, err = e.page(ctx)
		}
		switch {
		case errors.Is(err, context.Canceled):
			e.abort(slog.LevelDebug, err)
		case err != nil:
			e.abort(slog.LevelWarn, err)
		}
	}
}

// bound reads how many rows may come, and asks for what only exports have. Errors: CodeValidation.
func (e *export) bound() error {
	t := e.x.route.table
	e.left = -1
	if t.before != nil && e.in.FieldByIndex(t.before).String() != "" {
		return app.Invalid("before", "can't be used for a list as CSV, which is always complete: use `after`")
	}
	for _, a := range t.asks {
		if f := e.in.FieldByIndex(a.field); f.String() == "" {
			f.SetString(a.value)
		}
	}
	if t.limit == nil {
		return nil
	}
	if text := e.in.FieldByIndex(t.limit).String(); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return app.Invalid("limit", "must be a number of at least 1")
		}
		e.left = n
	}
	return nil
}

// page reads the next page and writes it down; the first one with the names before it. It
// reports whether another follows.
func (e *export) page(ctx context.Context) (more bool, err error) {
	select {
	case e.h.exports.turns <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-e.h.exports.turns }()
	t := e.x.route.table
	if t.limit != nil {
		n := app.MaxLimit
		if e.left >= 0 {
			n = min(n, e.left)
		}
		e.in.FieldByIndex(t.limit).SetString(strconv.Itoa(n))
	}
	out, err := e.read(ctx)
	if err != nil {
		return false, err
	}
	defer e.x.answer.renew()
	body := reflect.ValueOf(out).Elem().FieldByName("Body")
	rows := body.FieldByIndex(t.data)
	if err := e.write(rows); err != nil || t.more == nil {
		return false, err
	}
	if e.left >= 0 {
		e.left -= rows.Len()
	}
	if !body.FieldByIndex(t.more).Bool() || e.left == 0 {
		return false, nil
	}
	return true, e.advance(body, rows)
}

// read asks for a page. In mid-export it asks again where there is no room for a moment.
func (e *export) read(ctx context.Context) (out any, err error) {
	for range busyRetries {
		if out, err = e.list(); !e.sent || app.CodeOf(err) != app.CodeServiceUnavailable {
			return out, err
		}
		e.x.answer.renew()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return out, err
}

// advance has the next page begin where this one ends.
func (e *export) advance(body, rows reflect.Value) error {
	t, cursor := e.x.route.table, ""
	if t.after == nil {
		return fmt.Errorf("%s has more rows than its one page", e.x.Pattern)
	}
	if t.cursor != nil {
		cursor = textOf(body.FieldByIndex(t.cursor))
	}
	if n := rows.Len(); cursor == "" && n > 0 && t.id != nil {
		cursor = textOf(rows.Index(n - 1).FieldByIndex(t.id))
	}
	after := e.in.FieldByIndex(t.after)
	if cursor == "" || cursor == after.String() {
		return fmt.Errorf("a page of %s says that more follow, and not where", e.x.Pattern)
	}
	after.SetString(cursor)
	return nil
}

// textOf returns a text, or that to which a pointer leads.
func textOf(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

// write writes rows down.
func (e *export) write(rows reflect.Value) error {
	w := csv.NewWriter(&e.buf)
	columns := e.x.route.table.columns
	if !e.sent {
		for i := range columns {
			e.row[i] = columns[i].name
		}
		if err := e.line(w); err != nil {
			return err
		}
	}
	for i := range rows.Len() {
		for n := range columns {
			var err error
			if e.row[n], err = columns[n].of(rows.Index(i)); err != nil {
				return err
			}
		}
		if err := e.line(w); err != nil {
			return err
		}
	}
	return nil
}

// line writes a line as RFC 4180 ends it. The writer's own way to do that would change the
// ends of lines within values too.
func (e *export) line(w *csv.Writer) error {
	err := w.Write(e.row)
	w.Flush()
	if err = errors.Join(err, w.Error()); err != nil {
		return fmt.Errorf("write a line of CSV: %w", err)
	}
	e.buf.Truncate(e.buf.Len() - 1)
	e.buf.WriteString("\r\n")
	return nil
}

// send hands the client what is written down.
func (e *export) send() error {
	if _, err := e.x.Write(e.buf.Bytes()); err != nil {
		return err
	}
	e.buf.Reset()
	if err := http.NewResponseController(e.x).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// standing proves now and then that the key may still read the list.
func (e *export) standing(ctx context.Context) error {
	if time.Since(e.seen) < recheckEvery {
		return nil
	}
	e.seen = time.Now()
	return e.h.standing(ctx, e.x, e.x.route)
}

// abort closes the connection in the midst of the answer, which is the only way left
// to say that the rest won't come. It does not return.
func (e *export) abort(level slog.Level, err error) {
	e.h.log.Log(context.Background(), level, "a list was broken off on its way as CSV", "request_id", e.x.ID, "route", e.x.Pattern, "error", err)
	e.x.reset()
	panic(http.ErrAbortHandler)
}
