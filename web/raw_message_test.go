package web

import (
	"encoding/base64"
	"net/http/httptest"
	"testing"
)

// TestARawMessageIsExact: to the byte, whatever is in it.
func TestARawMessageIsExact(t *testing.T) {
	b := newBench(t)
	path := "/emails/" + emailID + "/raw"
	whole := "Subject: hi\r\n\r\nbad \xff byte\r\n"
	got := decoded[struct {
		Raw       *string
		RawBase64 *string `json:"raw_base64"`
	}](t, b.auth("GET", path, ""))
	if got.Raw != nil || got.RawBase64 == nil {
		t.Fatalf("%+v", got)
	}
	if exact, err := base64.StdEncoding.DecodeString(*got.RawBase64); err != nil || string(exact) != whole {
		t.Errorf("%q, %v", exact, err)
	}
	w := asks(b, path, "message/rfc822")
	if w.Code != 200 || w.Body.String() != whole || w.Header().Get("Content-Type") != "message/rfc822" || w.Header().Get("Content-Length") != "27" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for accept, kind := range map[string]string{"*/*": "application/json", "message/rfc822;q=0.5, application/json": "application/json", "text/html": "application/json", "application/json;q=0.1, message/rfc822": "message/rfc822"} {
		if w := asks(b, path, accept); w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %s", accept, w.Header().Get("Content-Type"))
		}
	}
	if w := asks(b, "/emails/"+unknownID+"/raw", "message/rfc822"); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("what is not there: %d %v", w.Code, w.Header())
	}
}

// asks asks with a key and an Accept header.
func asks(b *bench, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+fullToken)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}
