package rest

import "net/http"

// Framed reports whether an answer is for a frame of a page, by what the browser says
// (Fetch Metadata). A browser that says nothing, and any other client, counts as one: what
// must stay in a frame has a policy of its own besides.
func Framed(header http.Header) bool {
	switch header.Get("Sec-Fetch-Dest") {
	case "", "iframe", "frame":
		return true
	}
	return false
}
