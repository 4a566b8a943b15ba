package smtpout

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// signedNames are the fields that are signed where they stand, and listed once
// more than they occur, so that none can be added later (RFC 6376 5.4.2, 8.15):
// not in front of the true one, and not where there was none, as an unsubscribe
// link of somebody else's would be. RFC 8058 section 4 wants the unsubscribe pair
// signed. A relay that adds one of them on its own must sign anew; with profile
// ses, sign leaves out what SES writes.
var signedNames = [...]string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
	"In-Reply-To", "References", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", app.EmailIDHeader,
}

// signedIfPresent are further fields that callers may set and that are signed where
// they stand, since readers act on them, Gmail on Feedback-ID only if it is signed.
// They are listed as often as they occur: providers add a Feedback-ID of their own.
var signedIfPresent = [...]string{
	"Auto-Submitted", "Feedback-ID", "List-Help", "List-Subscribe", "List-Post", "List-Owner", "List-Archive",
	"CFBL-Address", "CFBL-Feedback-ID",
}

// sign makes the DKIM-Signature field (RFC 6376) of a message that appendMessage made,
// with its final CRLF, to be put before it: relaxed/relaxed, SHA-256. With
// profile ses Message-ID and Date stay out, since SES writes its own. tail is what follows
// message, whose header is whole.
func sign(message []byte, key *app.DKIMKey, profile relayurl.Profile, tail ...byte) (string, error) {
	if key == nil || key.Signer == nil {
		return "", errors.New("sign message: no key")
	}
	end := bytes.Index(message, []byte("\r\n\r\n"))
	if end < 0 {
		return "", errors.New("sign message: no end of header")
	}
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
	if closeErr := s.Close(); err == nil { // always: it ends the signer's goroutine
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("sign message: %w", err)
	}
	return s.Signature(), nil
}

// headerKeys lists the fields to sign. The library writes the list in one line,
// and whitespace added to it afterwards would change what was signed. But a name
// that is listed beyond its occurrences is never looked up, so the fold goes
// before such a name (RFC 6376 3.5: FWS may stand around the colons).
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

// foldKeys mixes the two lists, each kept in its order, so that no line of the
// list is longer than 78 while there are absent names to fold at. A name with a
// fold must stand behind the present ones of that name: verifiers count from
// the left. Absent names side by side, behind the present ones too, make one key:
// the library would look for each in the whole header.
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
