package web

import (
	"testing"

	"mailer/app"
)

func TestUnsupportedRoutesAreExplained(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, tt := range []struct{ method, path, words string }{
		{"GET", "//inboxes/" + emailID, "This service has no inboxes"},
		{"POST", "/domains/claim", "no claims of domains"},
		{"POST", "/domains/" + emailID + "/claim/verify", "no claims of domains"},
		{"PUT", "/inboxes/a@b.test/threads/x/labels", "no inboxes"},
		{"GET", "/segments/metrics", "no metrics of segments"},
		{"DELETE", "/oauth/grants/" + emailID, "no OAuth grants"},
	} {
		wantError(t, b.do(tt.method, tt.path, ""), 404, app.CodeNotFound, tt.words, "Resend's API")
	}
}

func TestUnsupportedRoutesHideNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, op := range b.handler.Operations() {
		if e := refuseUnsupported(op.Path); e != nil {
			t.Errorf("%s %s: %s", op.Method, op.Path, e.Message)
		}
	}
	for _, path := range []string{"/", "", "*", "/emails", "/emails/x", "/emails/x/events", "/emails/x/shared", "/events2", "/domains/x", "/EVENTS"} {
		if e := refuseUnsupported(path); e != nil {
			t.Errorf("%s: %s", path, e.Message)
		}
	}
}
