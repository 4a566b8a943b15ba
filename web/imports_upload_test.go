package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
	"mailer/db"
	"mailer/web/rest"
)

// stored is how many imports of a status keep their file.
func (r *testAPI) stored(status contactfile.Status) (n int) {
	r.t.Helper()
	err := r.store.Read(r.t.Context(), func(reader *db.Reader) error {
		ids, err := reader.StoredImports(status, time.Now())
		n = len(ids)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestRefusedImportLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	other, _ := r.newTeam("Other")
	segment, foreignSegment, foreignTopic := r.segment(r.team.ID), r.segment(other.ID), r.topic(other.ID)
	good := csvFile("email,name", "a@example.org,x")
	properties := func(n int) string {
		names := []string{"email"}
		for i := range n {
			names = append(names, fmt.Sprintf("p%d", i))
		}
		return strings.Join(names, ",")
	}
	for _, tt := range []struct {
		name   string
		fields []field
		status int
		words  []string
	}{
		{"no file", []field{{"on_conflict", "skip"}}, 422, []string{"`file` is required"}},
		{"nothing", nil, 422, []string{"`file` is required"}},
		{"empty file", []field{csvFile("")}, 422, []string{"`file`", "empty"}},
		{"blank file", []field{csvFile("\ufeff\r\n\n ,, \n")}, 422, []string{"`file`", "empty"}},
		{"no email", []field{csvFile("name,post", "a,b@example.org")}, 422, []string{"`file`", "email"}},
		{"no headings", []field{csvFile("bob@example.org,Bob", "b@example.org,x")}, 422, []string{"`file`", "email"}},
		{"two emails", []field{csvFile("email,E-Mail Address")}, 422, []string{"`file`", "more than one", "column_map"}},
		{"two of a key", []field{csvFile("email,a b,a-b")}, 422, []string{"`file`", "a_b", "column_map"}},
		{"open quote", []field{csvFile(`"email`)}, 422, []string{"`file`", "Line 1"}},
		{"not UTF-8", []field{csvFile("email,ä\xff")}, 422, []string{"`file`", "UTF-8"}},
		{"UTF-16 without addresses", []field{csvFile("\xff\xfen\x00a\x00m\x00e\x00\n\x00a\x00")}, 422, []string{"`file`", "email"}},
		{"too many properties", []field{csvFile(properties(101))}, 422, []string{"`file`", "100"}},
		{"two files", []field{good, good}, 422, []string{"`file`", "more than once"}},
		{"unknown field", []field{good, {"colour", "red"}}, 422, []string{"`colour`"}},
		{"unknown field before", []field{{"col`our\n", "red"}, good}, 422, []string{"`col"}},
		{"bad conflict", []field{good, {"on_conflict", "error"}}, 422, []string{"`on_conflict`"}},
		{"map no JSON", []field{good, {"column_map", "email"}}, 422, []string{"`column_map`", "JSON"}},
		{"map twice", []field{good, {"column_map", `{"email":"email","email":"email"}`}}, 422, []string{"`column_map`"}},
		{"map breaks out", []field{good, {"column_map", `{}, "segments":[]`}}, 422, []string{"`column_map`"}},
		{"map no object", []field{good, {"column_map", `["email"]`}}, 422, []string{"`column_map`", "object"}},
		{"map unknown member", []field{good, {"column_map", `{"firstName":"name"}`}}, 422, []string{"`column_map.firstName`"}},
		{"map member type", []field{good, {"column_map", `{"email":1}`}}, 422, []string{"`column_map.email`", "string"}},
		{"map property shape", []field{good, {"column_map", `{"properties":{"a":1}}`}}, 422, []string{"`column_map.properties.a`"}},
		{"map property member", []field{good, {"column_map", `{"properties":{"a":{"column":"name","x":1}}}`}}, 422, []string{"`column_map.properties.a.x`"}},
		{"map property type", []field{good, {"column_map", `{"properties":{"a":{"column":"name","type":"date"}}}`}}, 422, []string{"`column_map.properties.a.type`"}},
		{"map property column", []field{good, {"column_map", `{"properties":{"a":{}}}`}}, 422, []string{"`column_map.properties.a.column`"}},
		{"map property key", []field{good, {"column_map", `{"properties":{"a b":"name"}}`}}, 422, []string{"`column_map.properties`"}},
		{"map missing email column", []field{good, {"column_map", `{"email":"Mail"}`}}, 422, []string{"`column_map.email`"}},
		{"map missing column", []field{good, {"column_map", `{"first_name":"nom"}`}}, 422, []string{"`column_map.first_name`"}},
		{"map missing property column", []field{good, {"column_map", `{"properties":{"a":"b"}}`}}, 422, []string{"`column_map.properties.a.column`"}},
		{"map no email", []field{csvFile("post"), {"column_map", `{}`}}, 422, []string{"`column_map.email`"}},
		{"long field", []field{good, {"column_map", strings.Repeat(" ", 256<<10+1)}}, 422, []string{"`column_map`", "bytes"}},
		{"segments no array", []field{good, {"segments", `{"id":"x"}`}}, 422, []string{"`segments`"}},
		{"segments id", []field{good, {"segments", `[{"id":"x"}]`}}, 422, []string{"`segments[0].id`"}},
		{"unknown segment", []field{good, {"segments", `[{"id":"` + segment + `"},{"id":"` + unknownID + `"}]`}}, 404, []string{"segment"}},
		{"foreign segment", []field{{"segments", `[{"id":"` + foreignSegment + `"}]`}, good}, 404, []string{"segment"}},
		{"topics", []field{good, {"topics", `[{"id":"` + foreignTopic + `","subscription":"maybe"}]`}}, 422, []string{"`topics[0].subscription`"}},
		{"foreign topic", []field{good, {"topics", `[{"id":"` + foreignTopic + `","subscription":"opt_in"}]`}}, 404, []string{"topic"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := r.upload(r.full, tt.fields...)
			code := map[int]app.Code{400: app.CodeInvalidPayload, 404: app.CodeNotFound, 422: app.CodeValidation}[tt.status]
			wantError(t, w, tt.status, code, tt.words...)
			if strings.Contains(w.Body.String(), "bob") {
				t.Errorf("the refusal repeats the file: %s", w.Body)
			}
		})
	}
	if p := r.page(r.full, "/contacts/imports"); len(p.Data) != 0 || r.stored(contactfile.Uploading) != 0 {
		t.Errorf("%d imports, %d files are left", len(p.Data), r.stored(contactfile.Uploading))
	}
	var declared map[string]app.PropertyType
	r.write(func(tx *db.Tx) (err error) {
		declared, err = tx.PropertyTypes(r.team.ID)
		return err
	})
	if len(declared) != 0 {
		t.Errorf("declared %v", declared)
	}
	for _, header := range []string{"Content-Type: application/json", "Content-Type: multipart/form-data", "Content-Type: multipart/mixed; boundary=x", "X-None: x"} {
		wantError(t, r.as(r.full, "POST", "/contacts/imports", "--x\r\n\r\n--x--", header), 400, app.CodeInvalidPayload, "multipart/form-data")
	}
	body, header := form(t, good)
	for _, cut := range []int{0, 1, 30, len(body) - 60, len(body) - 10} {
		wantError(t, r.as(r.full, "POST", "/contacts/imports", body[:cut], header), 400, app.CodeInvalidPayload)
	}
	if n := r.stored(contactfile.Uploading); n != 0 {
		t.Errorf("%d files are left of what was cut off", n)
	}
}

func TestEmptyFormField(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	for _, empty := range []string{"", " ", "null", "[]"} {
		fields := []field{{"segments", empty}, {"topics", empty}, csvFile("email", "a@example.org")}
		if empty != "[]" {
			fields = append(fields, field{"column_map", empty}, field{"on_conflict", strings.TrimPrefix(empty, "null")})
		}
		if a := r.imported(fields...); a.Status != "completed" || a.Counts.Total != 1 {
			t.Errorf("%q: %+v", empty, a)
		}
	}
}

func TestListImports(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, foreign := r.newTeam("Other")
	var all []string
	for range 3 {
		all = append(all, r.imported(csvFile("email", "nobody", "no one", "a@example.org", "neither")).ID)
	}
	failed := r.imported(csvFile("email", `"`)).ID
	all = append(all, failed)
	slices.Reverse(all)
	for query, want := range map[string][]string{"": all, "?status=failed": all[:1], "?status=completed": all[1:], "?status=queued": nil, "?status=in_progress&limit=1": nil,
		"?status=completed&limit=1&after=" + all[1]: all[2:3], "?limit=2&before=" + all[3]: all[1:3]} {
		if got := r.page(r.full, "/contacts/imports"+query).ids(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	wantError(t, r.as(r.full, "GET", "/contacts/imports?status=uploading", ""), 422, app.CodeValidation, "`status`")
	wantError(t, r.as(r.full, "GET", "/contacts/imports?status=completed&after="+failed, ""), 422, app.CodeValidation, "`after`")
	flawed := "/contacts/imports/" + all[3] + "/errors"
	flaws := r.page(r.full, flawed).ids()
	if len(flaws) != 3 {
		t.Fatalf("%d errors", len(flaws))
	}
	wantJSON(t, r.as(r.full, "GET", flawed+"?limit=1&after="+flaws[0], ""), `{"object":"list","has_more":true,"data":[{"id":"`+flaws[1]+
		`","line":3,"message":"Column \"email\" is not a valid email address","value":"no one"}]}`)
	if got := r.page(r.full, flawed+"?limit=2&before="+flaws[2]).ids(); !slices.Equal(got, flaws[:2]) {
		t.Errorf("before the last: %q of %q", got, flaws)
	}
	r.wantPageErrors("/contacts/imports", all[0])
	r.wantPageErrors(flawed, flaws[0])
	for _, path := range []string{"/contacts/imports/" + all[3], flawed} {
		wantError(t, r.as(foreign, "GET", path, ""), 404, app.CodeNotFound, "import")
		wantError(t, r.as(r.full, "GET", strings.Replace(path, all[3], "x", 1), ""), 404, app.CodeNotFound, "import")
	}
	if p := r.page(foreign, "/contacts/imports"); len(p.Data) != 0 {
		t.Errorf("the other team lists %q", p.ids())
	}
}

func TestUploadLimits(t *testing.T) {
	t.Parallel()
	const most = 300 << 10
	r := newTestAPI(t, captured(), func(_ *Config, l *rest.Limits) { l.Upload = most })
	large := csvFile("email", strings.Repeat("nobody\n", most/7))
	wantError(t, r.upload(r.full, large), 413, app.CodePayloadTooLarge)
	body, header := form(t, large)
	wantError(t, r.do("POST", "/contacts/imports", body, header), 401, app.CodeMissingAPIKey)
	w, req := newUpload(r, iotest.OneByteReader(strings.NewReader(body)), header) // of unknown length
	r.handler.ServeHTTP(w, req)
	wantError(t, w, 413, app.CodePayloadTooLarge)
	if w.Header().Get("Connection") != "close" {
		t.Error("the rest of the body would be read")
	}
	broken := io.MultiReader(strings.NewReader(body[:most-1]), iotest.ErrReader(errors.New("reset by peer")))
	w, req = newUpload(r, broken, header)
	r.handler.ServeHTTP(w, req)
	wantError(t, w, 400, app.CodeInvalidPayload)
	if n := r.stored(contactfile.Uploading); n != 0 {
		t.Errorf("%d files are left", n)
	}
	small, header := form(t, csvFile("email", "a@example.org"))
	w, req = newUpload(r, iotest.HalfReader(strings.NewReader("preamble\r\n"+small+"epilogue")), header)
	r.handler.ServeHTTP(w, req)
	wantStatus(t, w, 201)
	if w.Header().Get("Connection") != "" {
		t.Error("the connection is not kept")
	}
	r.finished(decodeImport(t, w).ID)
	huge := "--x\r\nContent-Disposition: form-data; name=file" + strings.Repeat(";a=b", 64<<10) + "\r\n\r\nemail\r\n--x--\r\n"
	wantError(t, r.as(r.full, "POST", "/contacts/imports", huge, "Content-Type: multipart/form-data; boundary=x"), 400, app.CodeInvalidPayload)
}

func TestStalledUploadIsCut(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured(), func(_ *Config, l *rest.Limits) { l.Stall = 50 * time.Millisecond })
	server := rest.NewServer(r.handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(server.Shutdown(ctx), <-done); err != nil {
			t.Error(err)
		}
	}()
	body, header := form(t, csvFile("email", "a@example.org"))
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /contacts/imports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\nContent-Length: %d\r\n\r\n%s", r.full, header, len(body), body[:len(body)/2])
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 408 {
		t.Errorf("%d", res.StatusCode)
	}
}

// newUpload returns a request whose body has no known length.
func newUpload(r *testAPI, body io.Reader, header string) (*httptest.ResponseRecorder, *http.Request) {
	req := httptest.NewRequest("POST", "http://mail.example.com/contacts/imports", body)
	req.ContentLength = -1
	name, value, _ := strings.Cut(header, ": ")
	req.Header.Set(name, value)
	req.Header.Set("Authorization", "Bearer "+r.full)
	return httptest.NewRecorder(), req
}
