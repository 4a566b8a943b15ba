package rest

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/web/rest/openapi"
)

const (
	csvType = "text/csv"
	// csvContentType declares a header line (RFC 4180 section 3).
	csvContentType = "text/csv; charset=utf-8; header=present"
)

// exportsPerTeam is how many lists a team may download as CSV at the same time.
const exportsPerTeam = 2

const (
	recheckEvery = 2 * time.Second // an export ends this long after its key was revoked, at the latest
	readAttempts = 10              // for a page, one second apart, while the server is short of something
)

// ExportLog records exports of lists.
type ExportLog interface {
	// NoteExport appends to the audit log of a team (empty: of the server) that the list at a path
	// is exported. query holds its filters.
	AuditExport(ctx context.Context, team, path string, query map[string]string) error
}

// table describes how the pages of a list become CSV. Fields are indexes for reflect's
// FieldByIndex.
type table struct {
	file     string          // of the download
	data     []int           // the body's rows
	more     []int           // the body's has_more; nil: always false
	cursor   []int           // the body's searched_to; nil: the cursor is the last row's id
	id       []int           // the row's id
	limit    []int           // the input's limit; nil: none
	after    []int           // the input's after; nil: there is one page
	before   []int           // the input's before; nil: none
	defaults []exportDefault // query parameters that exports set if the request does not
	columns  []column
}

// exportDefault is a query parameter and its value in exports, from the field's tag csv.
type exportDefault struct {
	field []int
	value string
}

// tableOf returns how a route's answer becomes CSV; nil if it is no list.
func tableOf(op *openapi.Operation, input, output reflect.Type) *table {
	body, row := listOf(op.Method, output)
	if row == nil {
		return nil
	}
	t := &table{columns: columnsOf(row), file: fileName(op.Path), id: fieldOf(row, "json", "id"),
		data: fieldOf(body, "json", "data"), more: fieldOf(body, "json", "has_more"), cursor: fieldOf(body, "json", "searched_to"),
		limit: fieldOf(input, "query", "limit"), after: fieldOf(input, "query", "after"), before: fieldOf(input, "query", "before")}
	for _, f := range visibleFields(input) {
		if value := f.Tag.Get("csv"); value != "" {
			t.defaults = append(t.defaults, exportDefault{f.Index, value})
		}
	}
	if t.after != nil && (t.more == nil || t.id == nil && t.cursor == nil) {
		panic(fmt.Sprintf("%s: a list with pages needs has_more, and ids in its rows", op.Path))
	}
	return t
}

// listOf returns the types of a list's body and of its rows; nil if the output is no list.
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

// fieldOf returns the index of the field with a name in a tag; nil if there is none.
func fieldOf(t reflect.Type, tag, name string) []int {
	for _, f := range visibleFields(t) {
		if got, _, _ := strings.Cut(f.Tag.Get(tag), ","); got == name && f.IsExported() {
			return f.Index
		}
	}
	return nil
}

// fileName returns the last literal segment of a path, with .csv.
func fileName(path string) string {
	text := slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s[0] == '{' })
	return text[len(text)-1] + ".csv"
}

// csvNote documents the CSV form of a list.
const csvNote = "With `Accept: " + csvType + "` all rows that follow come as CSV, after a line with the names " +
	"of their members; those of objects follow a dot. A `limit`, of which there is no highest then, bounds them; `before` can't be given. " +
	"What a spreadsheet would take for a formula has a ' before it."

// prefersCSV reports whether a client names CSV in Accept and prefers it to JSON.
func prefersCSV(header http.Header) bool { return Prefers(header, csvType) }

// Prefers reports whether a request prefers a media type to JSON.
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

// exportLimiter bounds the exports of a team, and the processors that exports use.
type exportLimiter struct {
	exports   *fair.Semaphore[string] // by team
	readSlots chan struct{}           // for reading a page: at most half of the processors
}

func newExportLimiter() *exportLimiter {
	return &exportLimiter{
		exports:   fair.New(fair.Config[string]{Capacity: math.MaxInt64, Share: exportsPerTeam}),
		readSlots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// begin counts an export of a team until done is called. Errors: CodeRateLimitExceeded.
func (e *exportLimiter) begin(team string) (done func(), err error) {
	if !e.exports.TryAcquire(team, 1) {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: 5 * time.Second,
			Message: fmt.Sprintf("Your team is downloading %d lists as CSV, which is the maximum; wait until one has finished", exportsPerTeam)}
	}
	return func() { e.exports.Release(team, 1) }, nil
}

// export is a list that is being sent as CSV.
type export struct {
	h         *Handler
	x         *Exchange
	in        reflect.Value       // the input of the list; its cursor advances
	list      func() (any, error) // reads the page that in asks for
	left      int                 // remaining rows; negative: no limit
	sent      bool                // part of the answer was sent
	row       []string
	buf       bytes.Buffer // rows that are not sent yet
	checkedAt time.Time    // when the key was last checked
}

// export answers with a list as CSV. Errors occur before the first byte only: an answer that can't
// be completed is aborted, so that no client takes a part for the whole.
func (h *Handler) export(ctx context.Context, x *Exchange, in any, list func() (any, error)) error {
	rt := x.route
	e := &export{h: h, x: x, in: reflect.ValueOf(in).Elem(), list: list, row: make([]string, len(rt.table.columns)), checkedAt: time.Now()}
	if err := e.readBounds(); err != nil {
		return err
	}
	if rt.FreshExport && !x.Key.RecentlyAuthenticated(h.now()) {
		return app.ReauthenticationRequired()
	}
	done, err := h.exportLimiter.begin(x.Key.TeamID)
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
	e.stream(ctx, more)
	x.answered = true
	return nil
}

// note records the export in the audit log.
func (e *export) note(ctx context.Context) error {
	if e.h.exportLog == nil {
		return nil
	}
	query := map[string]string{}
	values, _ := url.ParseQuery(e.x.query) // an unreadable query filters nothing
	for _, name := range e.x.route.query.known {
		if values.Has(name) {
			query[name] = values.Get(name)
		}
	}
	return e.h.exportLog.AuditExport(app.WithActor(ctx, e.x.actor), e.x.Key.TeamID, e.x.path, query)
}

// stream sends the page that was read and all further pages.
func (e *export) stream(ctx context.Context, more bool) {
	e.sent = true
	for {
		if err := e.send(); err != nil {
			e.abort(slog.LevelDebug, err) // the client left
		}
		if !more {
			return
		}
		err := e.recheck(ctx)
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

// readBounds reads the number of rows that the request asks for, and sets the parameters that
// exports set. Errors: CodeValidation.
func (e *export) readBounds() error {
	t := e.x.route.table
	e.left = -1
	if t.before != nil && e.in.FieldByIndex(t.before).String() != "" {
		return app.Invalid("before", "can't be used for a list as CSV, which is always complete: use `after`")
	}
	for _, a := range t.defaults {
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

// page reads the next page into the buffer, the first one after a header line. It reports whether
// another page follows.
func (e *export) page(ctx context.Context) (more bool, err error) {
	select {
	case e.h.exportLimiter.readSlots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-e.h.exportLimiter.readSlots }()
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
	defer e.x.memory.release() // what the rows of the page reserved
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

// read reads a page. Once part of the answer was sent, it retries while the database is unavailable,
// or there is no memory.
func (e *export) read(ctx context.Context) (out any, err error) {
	for range readAttempts {
		if out, err = e.list(); !e.sent || app.CodeOf(err) != app.CodeServiceUnavailable {
			return out, err
		}
		e.x.memory.release()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return out, err
}

// advance sets the cursor to the end of a page.
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
		return fmt.Errorf("a page of %s has more rows and no cursor", e.x.Pattern)
	}
	after.SetString(cursor)
	return nil
}

// textOf returns a string, or the string that a pointer points to; empty for nil.
func textOf(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

// write appends rows to the buffer.
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
			if e.row[n], err = columns[n].value(rows.Index(i)); err != nil {
				return err
			}
		}
		if err := e.line(w); err != nil {
			return err
		}
	}
	return nil
}

// line appends a line with the line end of RFC 4180. csv.Writer's own option would change line ends
// inside of values too.
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

// send writes the buffer to the client.
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

// recheck checks from time to time that the key may still read the list.
func (e *export) recheck(ctx context.Context) error {
	if time.Since(e.checkedAt) < recheckEvery {
		return nil
	}
	e.checkedAt = time.Now()
	return e.h.recheckKey(ctx, e.x, e.x.route)
}

// abort closes the connection in the middle of the answer, the only way left to signal that it is
// incomplete. It does not return.
func (e *export) abort(level slog.Level, err error) {
	e.h.log.Log(context.Background(), level, "a list was broken off on its way as CSV", "request_id", e.x.ID, "route", e.x.Pattern, "error", err)
	e.x.reset()
	panic(http.ErrAbortHandler)
}
