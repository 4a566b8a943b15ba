package feedback

import (
	"bytes"
	"cmp"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// looseString is a JSON string or number as text; other values are empty. A field with a changed
// type must not invalidate the rest of a report.
type looseString string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *looseString) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*t = ""
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case '"':
		return json.Unmarshal(v, (*string)(t))
	case '0', 't', 'f':
		*t = looseString(v)
	}
	return nil
}

// decodeReport decodes a provider's request. Duplicate names and invalid UTF-8 are refused,
// unknown names are ignored. Error: CodeInvalidPayload.
func decodeReport(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return app.Errorf(app.CodeInvalidPayload, "The body is not what this provider sends: it must be JSON of its event webhooks")
	}
	return nil
}

// decodeEvents decodes one event or an array of events. Error: CodeInvalidPayload.
func decodeEvents[T any](body []byte) ([]T, error) {
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		var events []T
		return events, decodeReport(body, &events)
	}
	events := make([]T, 1)
	return events, decodeReport(body, &events[0])
}

// decodeFields decodes an event without structure, JSON or form encoded, with the names of its
// fields in lower case. A name in several spellings keeps the empty value: one of them may be
// forged. Error: CodeInvalidPayload.
func decodeFields(body []byte) (map[string]string, error) {
	given := map[string]looseString{}
	if start := bytes.TrimLeft(body, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) {
		if err := decodeReport(body, &given); err != nil {
			return nil, err
		}
	} else {
		form, err := url.ParseQuery(string(body))
		if err != nil || !bytes.ContainsRune(body, '=') {
			return nil, app.Errorf(app.CodeInvalidPayload, "The body is not what this provider sends: it must be JSON or a form of its event webhooks")
		}
		for name, values := range form {
			if len(values) == 1 && utf8.ValidString(name+values[0]) {
				given[name] = looseString(values[0])
			}
		}
	}
	fields := make(map[string]string, len(given))
	for name, value := range given {
		name = strings.ToLower(name)
		if _, twice := fields[name]; twice {
			value = ""
		}
		fields[name] = string(value)
	}
	return fields, nil
}

// anyTime parses a time as providers write it, in UTC if it has no offset; zero: invalid.
func anyTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "1/2/2006 3:04:05 PM"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return unixTime(looseString(s))
}

// isoTime parses a provider's time; zero: invalid.
func isoTime(s looseString) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return time.Time{}
	}
	return t
}

// unixTime parses seconds since 1970, with an optional fraction; zero: invalid.
func unixTime(s looseString) time.Time {
	seconds, err := strconv.ParseFloat(string(s), 64)
	if err != nil || !(seconds > 0 && seconds < 1<<40) {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000)))
}

// emailIDIn returns the email's id in metadata, whose name may have any case; empty: none, or
// several, of which only one can be ours.
func emailIDIn(metadata map[string]looseString) (id string) {
	ids := 0
	for name, value := range metadata {
		if strings.EqualFold(name, app.EmailIDKey) {
			id = string(value)
			ids++
		}
	}
	if ids > 1 {
		return ""
	}
	return id
}

// bareMessageID returns a Message-ID without angle brackets.
func bareMessageID(s looseString) string { return strings.Trim(string(s), "<> \t\r\n") }

// reportID joins a provider's report id with what distinguishes its recipients; empty: no id.
func reportID(id looseString, rest ...string) string {
	if id == "" {
		return ""
	}
	return string(id) + "\x00" + strings.Join(rest, "\x00")
}

// classifyQuoted classifies a provider's bounce by the quoted text of the receiving server, by the
// stated code, and by the provider's class. The provider's subtype is kept.
func (f *Report) classifyQuoted(stated looseString, e bounce.Evidence) {
	if bounce.IsStatus(string(stated)) {
		e.Status = string(stated)
	}
	j := bounce.Classify(e)
	if f.Class, f.Reason, f.Enhanced = j.Class, j.Reason, j.Status; f.Enhanced == "" {
		f.Enhanced = string(stated)
	}
}

// bounced makes the report a bounce of the provider's type and subtype, classified by the quoted
// text of the receiving server and the stated code.
func (f *Report) bounced(t app.BounceType, subType, stated, reply string) {
	f.Kind, f.Bounce, f.SubType, f.Diagnostic = Bounced, t, subType, reply
	e := f.evidence()
	if t == app.BounceUndetermined { // the provider does not know the reason
		e.Temporary = false
	}
	e.Status = ""
	f.classifyQuoted(looseString(stated), e)
	f.SubType = cmp.Or(subType, bounce.General)
}

// onProviderList makes the report a bounce of an address that the provider's own list contains.
func (f *Report) onProviderList(words string) {
	f.Kind, f.Bounce, f.SubType, f.Diagnostic = Bounced, app.BouncePermanent, "OnAccountSuppressionList", words
}

// codeOf returns the conclusive enhanced code in a server's text, or else the stated code.
func codeOf(stated looseString, words looseString) string {
	found := bounce.StatusIn(firstBytes(string(words), maxDiagnostic))
	if found != "" && (bounce.SaysWhy(found) || !bounce.IsStatus(string(stated))) {
		return found
	}
	return string(stated)
}
