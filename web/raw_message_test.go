package web

import (
	"net/http/httptest"
	"testing"
)

func TestRawMessageBytes(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	path := "/emails/" + r.send(r.full, validSend) + "/raw"
	whole := decoded[struct{ Raw string }](t, r.eventually(r.full, path, "DKIM-Signature")).Raw
	ask := func(path, accept string) *httptest.ResponseRecorder { // without the check of JSON answers
		q := httptest.NewRequest("GET", path, nil)
		q.Header.Set("Authorization", "Bearer "+r.full)
		q.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		return w
	}
	w := ask(path, "message/rfc822")
	if w.Code != 200 || whole == "" || w.Body.String() != whole || w.Header().Get("Content-Type") != "message/rfc822" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for accept, kind := range map[string]string{"*/*": "application/json", "message/rfc822;q=0.5, application/json": "application/json", "text/html": "application/json", "application/json;q=0.1, message/rfc822": "message/rfc822"} {
		if w := ask(path, accept); w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %s", accept, w.Header().Get("Content-Type"))
		}
	}
	if w := ask("/emails/"+unknownID+"/raw", "message/rfc822"); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("an unknown email: %d %v", w.Code, w.Header())
	}
}
