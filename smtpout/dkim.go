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
)

// oversigned fields are listed once more than they occur, so that none can be
// added later, in front of the true one (RFC 6376 8.15).
var oversigned = []string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}

// signedIfPresent fields are signed where they stand, and a relay may add them
// where they don't. RFC 8058 section 4 wants the unsubscribe pair signed.
var signedIfPresent = []string{
	"In-Reply-To", "References", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", "X-Mailer-Email-ID",
}

// sign makes the DKIM-Signature field (RFC 6376) of a message that compose made,
// with its final CRLF, to be put before it: relaxed/relaxed, SHA-256. With
// profile ses Message-ID and Date stay out, since SES writes its own.
func sign(message []byte, key *app.DKIMKey, profile app.Profile) (string, error) {
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
	_, err = s.Write(message)
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
func headerKeys(header []byte, profile app.Profile) []string {
	count := countFields(header)
	var present, absent []string
	for _, name := range oversigned {
		if profile == app.ProfileSES && (name == "Message-ID" || name == "Date") {
			continue
		}
		for range count[strings.ToLower(name)] {
			present = append(present, name)
		}
		absent = append(absent, name)
	}
	for _, name := range signedIfPresent {
		for range count[strings.ToLower(name)] {
			present = append(present, name)
		}
	}
	return foldKeys(present, absent)
}

// foldKeys mixes the two lists, each kept in its order, so that no line of the
// list is longer than 78 while there are absent names to fold at. A name with a
// fold must stand behind the present ones of that name: verifiers count from
// the left.
func foldKeys(present, absent []string) []string {
	keys := make([]string, 0, len(present)+len(absent))
	column := len(" h=")
	for len(present)+len(absent) > 0 {
		next := &present
		if len(present) == 0 || column+len(present[0])+1 > maxLine && len(absent) > 0 {
			next = &absent
		}
		name := (*next)[0]
		*next = (*next)[1:]
		column += len(name) + 1
		if column > maxLine && next == &absent && !slices.Contains(present, name) {
			keys = append(keys, "\r\n "+name)
			column = len(name) + 2
			continue
		}
		keys = append(keys, name)
	}
	return keys
}

// countFields counts the fields of a header by lower-case name.
func countFields(header []byte) map[string]int {
	count := map[string]int{}
	for len(header) > 0 {
		var line []byte
		line, header, _ = bytes.Cut(header, []byte("\r\n"))
		if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		if name, _, found := bytes.Cut(line, []byte(":")); found {
			count[strings.ToLower(string(name))]++
		}
	}
	return count
}
