package rest

import "net/http"

// Framed reports whether an answer is for a frame of a page, by the browser's Fetch Metadata.
// Clients that send no such header count as frames: content that must stay in a frame has a
// Content-Security-Policy too.
func Framed(header http.Header) bool {
	switch header.Get("Sec-Fetch-Dest") {
	case "", "iframe", "frame":
		return true
	}
	return false
}
