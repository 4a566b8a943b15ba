package relayurl_test

import (
	"strings"
	"testing"

	"mailer/app/rules/relayurl"
)

// TestUnknownOptionSuggestsAName: the given name may be part of a password and is not repeated.
func TestUnknownOptionSuggestsAName(t *testing.T) {
	for url, want := range map[string]string{"smtp://h:587?rte=3": "did you mean rate?", "smtp://h:587?Rate=3": "did you mean rate?", "smtp://h:587?s3cretword=1": "there are tls, rate"} {
		_, err := relayurl.ParseOne(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
