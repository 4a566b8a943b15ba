package web

import (
	"strings"

	"mailer/app"
	"mailer/web/rest"
)

// unsupportedRoute is a part of Resend's API that Mailer does not have. Clients have methods for
// it. The answer explains this, instead of the 404 of a mistyped path or of an email whose id would
// be "metrics".
type unsupportedRoute struct {
	// path includes everything below it; * stands for one segment.
	path    string
	feature string // completes "This service has no …"
}

// unsupportedRoutes are all of them, for every method. testdata/operations.tsv of web/sdktest lists
// their operations.
var unsupportedRoutes = []unsupportedRoute{
	{"/domains/claim", "claims of domains"},
	{"/domains/claims", "claims of domains"}, // spelling of the PHP client
	{"/domains/*/claim", "claims of domains"},
	{"/domains/*/claims", "claims of domains"},
	{"/editor", "shared editor of templates and broadcasts"},
	{"/inboxes", "inboxes"},
	{"/oauth", "OAuth grants"},
	{"/segments/metrics", "metrics of segments"},
}

// matches reports whether path is the unsupported one or below it.
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

// nextSegment splits off the first segment of a path that begins with a slash.
func nextSegment(path string) (segment, rest string) {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// refuseUnsupported returns the error for an unsupported path of Resend's API; nil for all others.
func refuseUnsupported(path string) *rest.Error {
	for _, a := range unsupportedRoutes {
		if a.matches(path) {
			return rest.NewError(app.CodeNotFound, "This service has no "+a.feature+": it does not serve "+a.path+" of Resend's API")
		}
	}
	return nil
}
