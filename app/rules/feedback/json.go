package feedback

import (
	"math"
	"strconv"
	"strings"
	"time"

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

// codeOf returns the conclusive enhanced code in a server's text, or else the stated code.
func codeOf(stated looseString, words looseString) string {
	found := bounce.StatusIn(firstBytes(string(words), maxDiagnostic))
	if found != "" && (bounce.SaysWhy(found) || !bounce.IsStatus(string(stated))) {
		return found
	}
	return string(stated)
}
