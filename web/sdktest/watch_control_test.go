package sdktest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// A watcher that saw nothing would accept everything: these tests show it what it must report.

// TestHarnessDocumentCheck alters exchanges one by one.
func TestHarnessDocumentCheck(t *testing.T) {
	part(t, "harness")
	t.Parallel()
	in := startBare(t)
	raw, err := fetch(in.url + "/openapi.json")
	must(t, err)
	doc, err := loadDocument(raw)
	must(t, err)
	const created, mail = `{"id":"` + someID + `"}`, `{"from":"a@b.test","to":"c@d.test","subject":"s","text":"t"}`
	refused := `{"statusCode":422,"name":"validation_error","message":"no"}`
	plain, page := "application/json", "text/html"
	for name, tt := range map[string]struct {
		method, path, sent string
		status             int
		media, got         string
		complaint          string // empty: it fits
	}{
		"good":               {"POST", "/emails", mail, 200, plain, created, ""},
		"refused":            {"POST", "/emails", `{"nonsense":1}`, 422, plain, refused, ""},
		"doubled slash":      {"POST", "//emails", mail, 200, plain, created, ""},
		"echo":               {"PATCH", "/emails/" + someID, `{"id":"` + someID + `","scheduled_at":"in 1 hour"}`, 200, plain, `{"object":"email","id":"` + someID + `"}`, ""},
		"no echo":            {"PATCH", "/emails/" + someID, `{"id":"other","scheduled_at":"in 1 hour"}`, 200, plain, `{"object":"email","id":"` + someID + `"}`, "does not fit"},
		"unknown field":      {"POST", "/emails", strings.Replace(mail, "text", "txt", 1), 200, plain, created, "does not fit"},
		"no body":            {"POST", "/emails", "", 200, plain, created, "does not fit"},
		"member missing":     {"POST", "/emails", mail, 200, plain, `{}`, "answered 200"},
		"member too much":    {"POST", "/emails", mail, 200, plain, `{"id":"` + someID + `","secret":1}`, "answered 200"},
		"wrong type":         {"POST", "/emails", mail, 200, plain, `{"id":7}`, "answered 200"},
		"no uuid":            {"POST", "/emails", mail, 200, plain, `{"id":"7"}`, "answered 200"},
		"uuid of version 4":  {"POST", "/emails", mail, 200, plain, strings.Replace(created, "-7", "-4", 1), "answered 200"},
		"no JSON":            {"POST", "/emails", mail, 200, plain, `<p>`, "answered 200"},
		"wrong content type": {"POST", "/emails", mail, 200, page, created, "Content-Type"},
		"unknown status":     {"POST", "/emails", mail, 202, plain, created, "status is not supported"},
		"bad error":          {"POST", "/emails", mail, 422, plain, `{"error":"no"}`, "answered 422"},
		"bare list":          {"GET", "/emails", "", 200, plain, `[]`, "answered 200"},
		"bad null":           {"GET", "/emails", "", 200, plain, `{"object":"list","has_more":false,"data":null}`, "answered 200"},
		"bad limit accepted": {"GET", "/emails?limit=many", "", 200, plain, `{"object":"list","has_more":false,"data":[]}`, "does not fit"},
		"unknown path":       {"GET", "/mails", "", 200, plain, `{}`, "not in openapi.json"},
		"unknown method":     {"PUT", "/emails", mail, 200, plain, created, "not in openapi.json"},
	} {
		u, err := url.Parse(strings.Replace(tt.path, "//", "http://x//", 1))
		must(t, err)
		request := &http.Request{Method: tt.method, URL: u, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody}
		response := &http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {tt.media}}}
		err = doc.check(exchange{request, []byte(tt.sent), response, []byte(tt.got)})
		if tt.complaint == "" && err != nil || tt.complaint != "" && (err == nil || !strings.Contains(err.Error(), tt.complaint)) {
			t.Errorf("%s: %v, want %q", name, err, tt.complaint)
		}
	}
}

// TestHarnessDocumentWithOtherReader has kin-openapi judge the document
// itself, and shows it broken ones.
func TestHarnessDocumentWithOtherReader(t *testing.T) {
	part(t, "harness")
	t.Parallel()
	in := startBare(t)
	raw, err := fetch(in.url + "/openapi.json")
	must(t, err)
	doc, err := loadDocument(raw)
	if err != nil || !doc.spec.IsOpenAPI31OrLater() || len(doc.ops) < 100 {
		t.Fatalf("%d operations, %v", len(doc.ops), err)
	}
	for what, broken := range map[string][2]string{
		"a type of no name":     {`"type":"boolean"`, `"type":""`},
		"an unknown type":       {`"type":"boolean"`, `"type":"bool"`},
		"a dangling reference":  {`#/components/schemas/CreatedEmail`, `#/components/schemas/Nothing`},
		"a lost path parameter": {`"/emails/{id}"`, `"/emails/{other}"`},
		"an answer of no words": {`"description":"OK"`, `"describe":"OK"`},
	} {
		bad := bytes.Replace(raw, []byte(broken[0]), []byte(broken[1]), 1)
		if bytes.Equal(bad, raw) {
			t.Errorf("%s: the document has no %s", what, broken[0])
		}
		if _, err := loadDocument(bad); err == nil {
			t.Errorf("%s passes", what)
		}
	}
}

// TestHarnessAlteredAnswer puts a proxy in front of a server that changes one word of one answer.
func TestHarnessAlteredAnswer(t *testing.T) {
	part(t, "harness")
	t.Parallel()
	in := startBare(t)
	target := parseURL(t, in.url)
	forger := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(res *http.Response) error {
			body, err := io.ReadAll(res.Body)
			body = bytes.Replace(body, []byte(`"has_more":false`), []byte(`"has_more":"no"`), 1)
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			res.Header.Del("Content-Length")
			return err
		},
	})
	defer forger.Close()
	for name, server := range map[string]string{"as it is": in.addr, "altered": forger.Listener.Addr().String()} {
		watched := &instance{addr: in.addr, url: in.url}
		watched.watch(t)
		p := newTap(t, server, watched.report.saw, watched.report.broke)
		api := client{p.url(), in.newKey(t)}
		api.do(t, "GET", "/emails", nil)
		api.do(t, "GET", "/inboxes", nil) // unsupported, as listed
		p.close()
		if want := name == "altered"; watched.report.n != 2 || (len(watched.report.all) == 1) != want {
			t.Errorf("%s: %d exchanges seen, complaints %q", name, watched.report.n, watched.report.all)
		}
	}
}

// TestHarnessTap sends what no well-behaved library would write and
// compares both ends.
func TestHarnessTap(t *testing.T) {
	part(t, "harness")
	const asked = "POST //a%2Fb?x;y HTTP/1.1\r\nhost: x\r\nX-odd:  spaced \r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nTrailer-X: 1\r\n\r\n" +
		"GET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	const answered = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 Fine\r\ncontent-type: a/b\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" +
		"HTTP/1.1 404 Gone\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, answered) // before it has read anything
		all, _ := io.ReadAll(c)
		got <- string(all)
	}()
	seen := make(chan exchange, 2)
	p := newTap(t, l.Addr().String(), func(x exchange) { seen <- x }, func(err error) { t.Error(err) })
	c, err := net.Dial("tcp", p.listener.Addr().String())
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, asked)
	must(t, err)
	must(t, c.(*net.TCPConn).CloseWrite())
	back, err := io.ReadAll(c)
	must(t, err)
	if there := <-got; there != asked || string(back) != answered {
		t.Errorf("the server got %q, the client %q", there, back)
	}
	p.close()
	first, second := <-seen, <-seen
	if string(first.sent) != "abc" || string(first.got) != "hi" || first.response.StatusCode != 200 || second.response.StatusCode != 404 || string(second.got) != "no" {
		t.Errorf("read along: %+v, %+v", first, second)
	}
}
