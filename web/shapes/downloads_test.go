package shapes

import "testing"

func TestMediaTypeWithHeaderIsDropped(t *testing.T) {
	for given, want := range map[string]string{"text/html": "text/html", "text/html\r\nX-Evil: 1": "application/octet-stream"} {
		if got := MediaType(given); got != want {
			t.Errorf("%q is sent as %q", given, got)
		}
	}
}
