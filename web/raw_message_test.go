package web

import "testing"

func TestARawMessageIsAnsweredAsTheBytesThatAreAskedFor(t *testing.T) {
	t.Parallel()
	r := newReal(t, captured())
	path := "/emails/" + r.send(r.full, goodSend) + "/raw"
	whole := decoded[struct{ Raw string }](t, r.eventually(r.full, path, "DKIM-Signature")).Raw
	w := r.as(r.full, "GET", path, "", "Accept: message/rfc822")
	if w.Code != 200 || whole == "" || w.Body.String() != whole || w.Header().Get("Content-Type") != "message/rfc822" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for accept, kind := range map[string]string{"*/*": "application/json", "message/rfc822;q=0.5, application/json": "application/json", "text/html": "application/json", "application/json;q=0.1, message/rfc822": "message/rfc822"} {
		if w := r.as(r.full, "GET", path, "", "Accept: "+accept); w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %s", accept, w.Header().Get("Content-Type"))
		}
	}
	if w := r.as(r.full, "GET", "/emails/"+unknownID+"/raw", "", "Accept: message/rfc822"); w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("an unknown email: %d %v", w.Code, w.Header())
	}
}
