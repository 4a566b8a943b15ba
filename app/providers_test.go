package app_test

import (
	"strings"
	"testing"

	"mailer/app"
)

// TestProviderInstructionHeaders: whichever of them takes the mail tomorrow.
func TestProviderInstructionHeaders(t *testing.T) {
	for _, name := range []string{"PoolName", "ChannelName", "TrackClicks", "X-APIHEADER", "X-ApiHeader-CC", "X-MT-Category", "X-MailerSend-Tags", "X-ZeptoMail-Agent", "X-Postal-Tag",
		"X-Virtual-MTA", "X-GreenArrow-MailClass", "X-xsMailingId", "X-SMTPAPI", "X-ElasticEmail-Settings"} {
		if !app.InstructsProvider(strings.ToLower(name)) {
			t.Errorf("%s passes", name)
		}
	}
	for _, name := range []string{"X-Channel", "Subject", "X-Pool", "List-Unsubscribe", "X-Priority", "X-Entity-Ref-ID", "X-Mailer", "X-MTA"} {
		if app.InstructsProvider(strings.ToLower(name)) {
			t.Errorf("%s counts as an order", name)
		}
	}
}
