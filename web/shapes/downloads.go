package shapes

import (
	"mime"
	"net/http"
	"strings"
)

// FilePolicy is the Content-Security-Policy of files that anybody chose: a browser that shows one runs and loads
// nothing.
const FilePolicy = "default-src 'none'; sandbox"

// ReadByScript reports whether a script in a browser sent the request (Fetch Metadata): it could
// read a file as if it were an answer of the API.
func ReadByScript(header http.Header) bool {
	return header.Get("Sec-Fetch-Dest") == "empty" && header.Get("Sec-Fetch-Mode") == "cors"
}

// MediaType returns a media type that is safe in a header: that of a file, or application/octet-stream.
func MediaType(s string) string {
	t, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(t, "/") {
		return "application/octet-stream"
	}
	if out := mime.FormatMediaType(t, params); out != "" {
		return out
	}
	return "application/octet-stream"
}

// Disposition returns a Content-Disposition with the file's name (RFC 6266); without a usable name
// the browser chooses one.
func Disposition(filename string) string {
	if s := mime.FormatMediaType("attachment", map[string]string{"filename": filename}); s != "" {
		return s
	}
	return "attachment"
}
