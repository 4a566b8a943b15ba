package web

import (
	"strings"

	"mailer/app"
	"mailer/web/rest"
)

// unsupportedRoute is a part of Resend's API that this service does not have. Its
// clients have methods for it, and whoever calls one is told so in words instead
// of being left with the 404 of a mistyped path, or with the one of an email
// whose id would be "metrics".
type unsupportedRoute struct {
	// path covers what is below it too; * stands for one segment.
	path    string
	feature string // completes "This service has no …"
}

// unsupportedRoutes are all of them, with every method. testdata/operations.tsv of
// web/sdktest names their operations one by one.
var unsupportedRoutes = []unsupportedRoute{
	{"/automations", "automations"},
	{"/domains/claim", "claims of domains"},
	{"/domains/claims", "claims of domains"}, // as the PHP client spells it
	{"/domains/*/claim", "claims of domains"},
	{"/domains/*/claims", "claims of domains"},
	{"/editor", "shared editor of templates and broadcasts"},
	{"/emails/receiving", "received emails"},
	{"/events", "custom events"},
	{"/inboxes", "inboxes"},
	{"/oauth", "OAuth grants"},
	{"/segments/metrics", "metrics of segments"},
}

// matches reports whether path is the absent one or below it.
func (a unsupportedRoute) matches(path string) bool {
	pattern := a.path
	for pattern != "" {
		want, wantRest := nextSegment(pattern)
		have, haveRest := nextSegment(path)
		if have == "" || want != "*" && want != have {
			return false
		}
		pattern, path = wantRest, haveRest
	}
	return true
}

// nextSegment takes the first segment off a path that starts with a slash.
func nextSegment(path string) (segment, rest string) {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// refuseUnsupported returns the refusal of what Resend's API has at path and this service
// has not; nil: no such thing.
func refuseUnsupported(path string) *rest.Error {
	for _, a := range unsupportedRoutes {
		if a.matches(path) {
			return rest.NewError(app.CodeNotFound, "This service has no "+a.feature+": it does not serve "+a.path+" of Resend's API")
		}
	}
	return nil
}
