package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// document is an openapi.json as kin-openapi reads it. That library judges
// OpenAPI 3.1 by JSON Schema 2020-12 since its version 0.134.
type document struct {
	spec *openapi3.T
	ops  []documented
}

// documented is one operation of a document.
type documented struct {
	method, path string
	item         *openapi3.PathItem
	operation    *openapi3.Operation
}

// readPages lets kin-openapi read the bodies that are no JSON as they are.
var readPages = sync.OnceFunc(func() {
	for _, media := range []string{"text/html", "image/gif", "text/csv", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
})

func loadDocument(raw []byte) (*document, error) {
	readPages()
	spec, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	if err := spec.Validate(context.Background()); err != nil {
		return nil, err
	}
	closeAnswers(spec)
	d := &document{spec: spec}
	for path, item := range spec.Paths.Map() {
		for method, operation := range item.Operations() {
			d.ops = append(d.ops, documented{method, path, item, operation})
		}
	}
	// Where a literal and a parameter meet, the literal wins.
	slices.SortFunc(d.ops, func(a, b documented) int {
		return strings.Compare(strings.ReplaceAll(a.path, "{", "~")+" "+a.method, strings.ReplaceAll(b.path, "{", "~")+" "+b.method)
	})
	return d, nil
}

// closeAnswers closes the schemas of answers: the document leaves them open so that clients accept
// new members, but this server must document everything it sends. Forms of pages are requests.
func closeAnswers(spec *openapi3.T) {
	for name, schema := range spec.Components.Schemas {
		if !strings.HasSuffix(name, "Form") {
			closeSchema(schema)
		}
	}
}

func closeSchema(ref *openapi3.SchemaRef) {
	s := ref.Value
	if ref.Ref != "" || s == nil {
		return
	}
	if extra := &s.AdditionalProperties; len(s.Properties) > 0 && extra.Has == nil && extra.Schema == nil {
		extra.Has = new(bool)
	}
	for _, inner := range s.Properties {
		closeSchema(inner)
	}
	if s.Items != nil {
		closeSchema(s.Items)
	}
}

// find returns the operation of a request and the values in its path.
func (d *document) find(method string, u *url.URL) (*documented, map[string]string) {
	path := u.EscapedPath()
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	for i := range d.ops {
		if values, ok := matchPath(d.ops[i].path, path); ok && d.ops[i].method == method {
			return &d.ops[i], values
		}
	}
	return nil, nil
}

// matchPath holds an escaped path against a pattern with {parameters}.
func matchPath(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values := map[string]string{}
	for i, w := range want {
		v, err := url.PathUnescape(have[i])
		if err != nil || v == "" && i > 0 {
			return nil, false
		}
		if name, ok := strings.CutPrefix(w, "{"); ok {
			values[strings.TrimSuffix(name, "}")] = v
		} else if w != v {
			return nil, false
		}
	}
	return values, true
}

// check says what of an exchange the document does not describe: the answer, or
// a request that was not refused.
func (d *document) check(x exchange) error {
	op, values := d.find(x.request.Method, x.request.URL)
	if op == nil {
		return fmt.Errorf("not in openapi.json")
	}
	input := &openapi3filter.RequestValidationInput{
		Request: x.request.Clone(context.Background()), PathParams: values,
		Route: &routers.Route{Spec: d.spec, Path: op.path, PathItem: op.item, Method: op.method, Operation: op.operation},
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SchemaValidationOptions: formats,
		},
	}
	if x.response.StatusCode < 400 {
		input.Request.Body = io.NopCloser(bytes.NewReader(bodyForCheck(x, values)))
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			return fmt.Errorf("was accepted and does not fit %s: %w\nit was %s", op.path, err, tail(x.sent, 2000))
		}
	}
	if x.response.StatusCode == 200 && strings.HasPrefix(x.response.Header.Get("Content-Type"), "text/csv") {
		return nil // described in text by the document
	}
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.response.StatusCode, Header: x.response.Header, Options: input.Options,
	}
	response.SetBodyBytes(x.got)
	if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil {
		return fmt.Errorf("answered %d: %w\nit was %s", x.response.StatusCode, err, tail(x.got, 2000))
	}
	return nil
}

// bodyForCheck returns the body without undocumented members that official clients are known to
// add: some send all arguments of a call, so that an id or address of the path is repeated in the
// body, or empty.
func bodyForCheck(x exchange, path map[string]string) []byte {
	var members map[string]any
	if json.Unmarshal(x.sent, &members) != nil {
		return x.sent
	}
	for name, value := range members {
		if name != "email" && name != "id" && !strings.HasSuffix(name, "_id") || len(path) == 0 {
			continue
		}
		repeated := slices.ContainsFunc(slices.Collect(maps.Values(path)), func(v string) bool { return v == value })
		if value == "" || repeated {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return x.sent
	}
	return out
}

// formats are formats that kin-openapi does not check: ids are UUIDs of version 7, times have
// milliseconds and end in Z.
var formats = []openapi3.SchemaValidationOption{
	openapi3.WithStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)),
	openapi3.WithStringFormatValidator("date-time", openapi3.NewRegexpFormatValidator(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)),
	openapi3.WithStringFormatValidator("uri", openapi3.NewRegexpFormatValidator(`^(?i:https?)://[^\s/]+(/\S*)?$`)),
}

// documents caches parsed documents: all servers of a run have the same one but for the URL.
type documents struct {
	mu    sync.Mutex
	known map[string]*document
}

func (d *documents) load(base string, raw []byte) (*document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	raw = bytes.ReplaceAll(raw, []byte(base), []byte("http://mailer.test"))
	if doc := d.known[string(raw)]; doc != nil {
		return doc, nil
	}
	doc, err := loadDocument(raw)
	if err != nil {
		return nil, err
	}
	d.known[string(raw)] = doc
	return doc, nil
}

func fetch(url string) ([]byte, error) {
	res, err := plainHTTP.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, res.Status)
	}
	return body, err
}
