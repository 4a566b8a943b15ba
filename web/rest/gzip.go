package rest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// TakesGzip reports whether a client reads gzip (RFC 9110, section 12.5.3).
func TakesGzip(header http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(header["Accept-Encoding"], ","), ",") {
		coding, weight, weighed := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
		return !weighed || err == nil && q > 0
	}
	return false
}

// packers are kept for the next file: each holds 0.8 MB.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // a level that there is
	return w
}}

// Gzip returns b in gzip (RFC 1952), as small as it gets: for files that are packed once.
func Gzip(b []byte) []byte {
	var out bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	w.Reset(&out)
	// A buffer takes all.
	_, _ = w.Write(b)
	_ = w.Close()
	packers.Put(w)
	return out.Bytes()
}
