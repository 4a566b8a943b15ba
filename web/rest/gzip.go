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

// packers are reused: each holds 0.8 MB.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level is valid
	return w
}}

// Gzip returns b compressed with the best ratio, for files that are compressed once.
func Gzip(b []byte) []byte {
	var out bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	w.Reset(&out)
	// A buffer takes everything.
	_, _ = w.Write(b)
	_ = w.Close()
	packers.Put(w)
	return out.Bytes()
}
