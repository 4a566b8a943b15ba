package rest

import (
	"net/http"
	"testing"
)

func TestTakesGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "br": false, "gzip": true, "br, GZIP": true, "gzip;q=0": false, "gzip; q=0.0": false, "gzip;q=0.5, br": true, "gzip;level=9": false, "*": false,
	} {
		if got := TakesGzip(http.Header{"Accept-Encoding": {accept}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
	if !TakesGzip(http.Header{"Accept-Encoding": {"br", "gzip"}}) {
		t.Error("the second header is not read")
	}
}
