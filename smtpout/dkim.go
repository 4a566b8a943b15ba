package smtpout

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// signedNames are the fields that are signed, and listed once more than they occur, so that none
// can be added later (RFC 6376 5.4.2, 8.15): not before the original one, and not if there was
// none, as with a forged unsubscribe link. RFC 8058 section 4 requires the unsubscribe fields to be
// signed. A relay that adds one of them must sign again; with profile ses, sign leaves out the
// fields that SES writes.
var signedNames = [...]string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
	"In-Reply-To", "References", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", app.EmailIDHeader,
}

// signedIfPresent are further fields that callers may set. They are signed because readers act on
// them, and Gmail honors Feedback-ID only if it is signed. They are listed as often as they occur,
// because providers add a Feedback-ID of their own.
var signedIfPresent = [...]string{
	"Auto-Submitted", "Feedback-ID", "List-Help", "List-Subscribe", "List-Post", "List-Owner", "List-Archive",
	"CFBL-Address", "CFBL-Feedback-ID",
}

// signing bounds how many messages are signed at the same time. A signature by RSA takes a processor
// for more than a millisecond, most of what an email costs, and each connection wants one: without a
// bound, a request of the API would wait for a processor behind all of them.
var signing = make(chan struct{}, runtime.GOMAXPROCS(0))

// sign returns the DKIM-Signature field (RFC 6376) of a message that appendMessage made, with its
// final CRLF, to be put before the message: relaxed/relaxed, SHA-256. With profile ses Message-ID
// and Date are not signed, because SES writes its own. tail follows message, which contains the
// whole header.
func sign(message []byte, key *app.DKIMKey, profile relayurl.Profile, tail ...byte) (string, error) {
	if key == nil || key.Signer == nil {
		return "", errors.New("sign message: no key")
	}
	end := bytes.Index(message, []byte("\r\n\r\n"))
	if end < 0 {
		return "", errors.New("sign message: no end of header")
	}
	signing <- struct{}{}
	defer func() { <-signing }()
	s, err := dkim.NewSigner(&dkim.SignOptions{
		Domain:                 key.Domain,
		Selector:               key.Selector,
		Signer:                 key.Signer,
		Hash:                   crypto.SHA256,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed,
		BodyCanonicalization:   dkim.CanonicalizationRelaxed,
		HeaderKeys:             headerKeys(message[:end], profile),
	})
	if err != nil {
		return "", fmt.Errorf("sign message: %w", err)
	}
	if _, err = s.Write(message); err == nil && len(tail) > 0 {
		_, err = s.Write(tail)
	}
	if closeErr := s.Close(); err == nil { // always called: it ends the signer's goroutine
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("sign message: %w", err)
	}
	return s.Signature(), nil
}

// headerKeys lists the fields to sign. The library writes the list in one line, and whitespace
// added afterwards would change the signed data. But a name listed beyond its occurrences is never
// looked up, so the fold is put before such a name (RFC 6376 3.5: FWS is allowed around the
// colons).
func headerKeys(header []byte, profile relayurl.Profile) []string {
	counts := countFields(header, signedNames[:])
	present := make([]string, 0, 2*len(signedNames))
	absent := make([]string, 0, len(signedNames))
	for i, name := range signedNames {
		if profile == relayurl.ProfileSES && (name == "Message-ID" || name == "Date") {
			continue
		}
		for range counts[i] {
			present = append(present, name)
		}
		absent = append(absent, name)
	}
	for i, n := range countFields(header, signedIfPresent[:]) {
		for range n {
			present = append(present, signedIfPresent[i])
		}
	}
	return foldKeys(present, absent)
}

// foldKeys merges the two lists, each in its order, so that no line of the list is longer than 78
// characters while there are absent names to fold at. A folded name must follow the present ones of
// that name, because verifiers count from the left. Adjacent absent names that follow the present
// ones become one key, because the library would search the whole header for each.
func foldKeys(present, absent []string) []string {
	keys := make([]string, 0, len(present)+len(absent))
	column, joined := len(" h="), false
	for len(present)+len(absent) > 0 {
		next := &present
		if len(present) == 0 || column+len(present[0])+1 > maxLine && len(absent) > 0 {
			next = &absent
		}
		name := (*next)[0]
		*next = (*next)[1:]
		column += len(name) + 1
		passed := next == &absent && !slices.Contains(present, name)
		if column > maxLine && passed {
			column = len(name) + 2
			name = "\r\n " + name
		}
		if joined && passed {
			keys[len(keys)-1] += ":" + name
			continue
		}
		keys = append(keys, name)
		joined = passed
	}
	return keys
}

// countFields counts the fields of a header that have each of names.
func countFields(header []byte, names []string) []int {
	counts := make([]int, len(names))
	for len(header) > 0 {
		var line []byte
		line, header, _ = bytes.Cut(header, crlf)
		end := bytes.IndexByte(line, ':')
		if end < 0 {
			continue
		}
		for i, name := range names {
			if len(name) == end && strings.EqualFold(name, string(line[:end])) {
				counts[i]++
			}
		}
	}
	return counts
}
