package mailauth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app"
)

// Limits of the signatures of one message. Times of the library grow with the square of some of these.
const (
	maxSignatures   = 10                  // that are looked at, from the top
	maxSignature    = 16 << 10            // bytes of a DKIM-Signature field
	maxSignedNames  = 200                 // in the tag h=
	maxSignedFields = 1000                // that have one of these names
	maxSignedLines  = 1000                // of one field
	maxHashed       = 2 * app.MaxReceived // bytes of bodies; each signature has the body hashed again
	maxEmptyLines   = 1 << 20             // bytes of line ends in succession, in the body

	signatureField = "dkim-signature"
)

// header is a message whose header was split into fields.
type header struct {
	fields   []field
	body     []byte
	tooLarge bool // there are no fields
}

// field is a header field: a part of the message.
type field struct {
	name string // in lower case
	raw  []byte // lines with their line ends
}

// parseHeader splits a message as the DKIM library does: lines end with LF or CRLF.
func parseHeader(raw []byte) (h header) {
	rest := raw
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		size := len(rest) - len(after)
		line, _ = bytes.CutSuffix(line, []byte{'\r'})
		if len(line) == 0 {
			h.body = after
			return h
		}
		if len(raw)-len(after) > maxHeader {
			return header{tooLarge: true}
		}
		if n := len(h.fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
			f := &h.fields[n-1]
			f.raw = f.raw[:len(f.raw)+size] // the lines follow each other in raw
		} else {
			name, _, _ := bytes.Cut(line, []byte{':'})
			h.fields = append(h.fields, field{strings.ToLower(string(bytes.TrimSpace(name))), rest[:size]})
		}
		rest = after
	}
	return h
}

// count returns how many fields have a name.
func (h header) count(name string) (n int) {
	for _, f := range h.fields {
		if f.name == name {
			n++
		}
	}
	return n
}

// dkimResult is the result of all signatures.
type dkimResult struct {
	result    app.AuthResult
	passed    []string // distinct canonical domains of the signatures that pass
	temporary []string // of those whose key could not be looked up
}

// signatures returns the indexes of the signature fields, from the top, but first those of domains that are
// aligned with author: slow name servers of others must not use up the time for them.
func (h header) signatures(author string) []int {
	var first, others []int
	for i, f := range h.fields {
		switch {
		case f.name != signatureField:
		case author != "" && aligned(canonical(tag(string(f.raw), "d")), author, false):
			first = append(first, i)
		default:
			others = append(others, i)
		}
	}
	return append(first, others...)
}

// checkDKIM checks signatures one after the other, of which the first may hash more than maxHashed. author is
// the domain of From; empty: none.
func checkDKIM(ctx context.Context, l *lookups, h header, author string, maxHashed int) dkimResult {
	if h.tooLarge {
		return dkimResult{result: app.AuthPermError}
	}
	all := dkimResult{result: app.AuthNone}
	body := &bodyReader{ctx: ctx, left: maxHashed}
	var results []app.AuthResult
	for _, i := range h.signatures(author) {
		if len(results) == maxSignatures || len(results) > 0 && body.left < len(h.body) {
			break
		}
		result, domain := checkSignature(ctx, l, h, i, body)
		domain = canonical(domain)
		switch {
		case result == app.AuthPass && domain == "":
			result = app.AuthPermError
		case result == app.AuthPass && !slices.Contains(all.passed, domain):
			all.passed = append(all.passed, domain)
		case result == app.AuthTempError:
			all.temporary = append(all.temporary, domain)
		}
		results = append(results, result)
	}
	for _, r := range []app.AuthResult{app.AuthPass, app.AuthTempError, app.AuthFail, app.AuthPermError} {
		if slices.Contains(results, r) {
			all.result = r
			break
		}
	}
	return all
}

// checkSignature checks the signature in the field with the index own. domain is its tag d=.
func checkSignature(ctx context.Context, l *lookups, h header, own int, body *bodyReader) (result app.AuthResult, domain string) {
	head, ok := h.signed(own)
	if !ok || longEmptyLines(h.body) {
		return app.AuthPermError, ""
	}
	body.from = bytes.NewReader(h.body)
	var key string
	// With more than one verification the library uses goroutines, in which a panic ends the process.
	checked, err := dkim.VerifyWithOptions(io.MultiReader(bytes.NewReader(head), body), &dkim.VerifyOptions{
		MaxVerifications: 1,
		LookupTXT: func(name string) ([]string, error) {
			texts, err := l.texts(ctx, name, "")
			if len(texts) == 1 {
				key = texts[0]
			}
			return texts, err
		},
	})
	if ctx.Err() != nil {
		return app.AuthTempError, tag(string(h.fields[own].raw), "d")
	}
	if err != nil && !errors.Is(err, dkim.ErrTooManySignatures) || len(checked) != 1 {
		return app.AuthPermError, ""
	}
	v := checked[0]
	result = verdict(v.Err)
	if result == app.AuthPass && noSubdomains(key) && !strings.HasSuffix(v.Identifier, "@"+v.Domain) {
		result = app.AuthPermError // RFC 6376 3.6.1
	}
	return result, v.Domain
}

// failures are the permanent errors of the library that say that a signature does not count although its key
// is known or not needed.
var failures = []string{"signature has expired", "key is too short"}

// verdict translates an error of the library.
func verdict(err error) app.AuthResult {
	switch {
	case err == nil:
		return app.AuthPass
	case dkim.IsTempFail(err):
		return app.AuthTempError
	case dkim.IsPermFail(err) && !slices.ContainsFunc(failures, func(s string) bool { return strings.Contains(err.Error(), s) }):
		return app.AuthPermError
	}
	return app.AuthFail
}

// signed returns the header that the signature in the field own covers, with that field at the top, so that
// it is the one that the library checks. Signatures above it were added later, and fields that it does not
// name are of no importance. ok is false if a limit is exceeded.
func (h header) signed(own int) (head []byte, ok bool) {
	signature := h.fields[own].raw
	if len(signature) > maxSignature || bytes.Count(signature, []byte{'\n'}) > maxSignedLines {
		return nil, false
	}
	names := strings.Split(tag(string(signature), "h"), ":")
	if len(names) > maxSignedNames {
		return nil, false
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[strings.ToLower(strings.TrimSpace(name))] = true
	}
	head = append(head, signature...)
	fields := 0
	for i, f := range h.fields {
		if !wanted[f.name] || f.name == signatureField && i <= own {
			continue
		}
		if fields++; fields > maxSignedFields || bytes.Count(f.raw, []byte{'\n'}) > maxSignedLines {
			return nil, false
		}
		head = append(head, f.raw...)
	}
	if !bytes.HasSuffix(head, []byte{'\n'}) {
		head = append(head, "\r\n"...) // the message ends within its header
	}
	return append(head, "\r\n"...), true
}

// tag returns the value of a tag of a signature field or a key record (RFC 6376 3.2); empty: none.
func tag(text, name string) string {
	if before, after, found := strings.Cut(text, ":"); found && strings.EqualFold(strings.TrimSpace(before), signatureField) {
		text = after
	}
	for pair := range strings.SplitSeq(text, ";") {
		if n, value, found := strings.Cut(pair, "="); found && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// noSubdomains reports whether the domain of i= must be that of d= by the flag s of a key record.
func noSubdomains(key string) bool {
	for flag := range strings.SplitSeq(tag(key, "t"), ":") {
		if strings.TrimSpace(flag) == "s" {
			return true
		}
	}
	return false
}

// longEmptyLines reports whether the body has so many empty lines in succession that the library would take
// long.
func longEmptyLines(body []byte) bool {
	if len(body) <= maxEmptyLines {
		return false
	}
	n := 0
	for _, b := range body {
		if n++; b != '\r' && b != '\n' {
			n = 0
		} else if n > maxEmptyLines {
			return true
		}
	}
	return false
}

// bodyReader reads the body for each signature, in pieces, until ctx ends or too much was read in all.
type bodyReader struct {
	ctx  context.Context
	from *bytes.Reader
	left int // bytes
}

// Read implements io.Reader.
func (r *bodyReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(b)
	r.left -= n
	return n, err
}
