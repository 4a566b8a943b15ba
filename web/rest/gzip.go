package rest

import (
	"net/http"
	"strconv"
	"strings"
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
