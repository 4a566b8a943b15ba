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

// looseString is a JSON value that providers write as a string or as a number, as its
// text; anything else is empty. A field that changed its type must not cost the
// rest of a report.
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

// decodeReport reads what a provider sent. Duplicate names and invalid UTF-8 are
// refused, unknown names are not. Error: CodeInvalidPayload.
func decodeReport(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return app.Errorf(app.CodeInvalidPayload, "The body is not what this provider sends: it must be JSON of its event webhooks")
	}
	return nil
}

// isoTime reads a provider's time; zero: it is none.
func isoTime(s looseString) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return time.Time{}
	}
	return t
}

// unixTime reads seconds since 1970, with a fraction or without; zero: it is none.
func unixTime(s looseString) time.Time {
	seconds, err := strconv.ParseFloat(string(s), 64)
	if err != nil || !(seconds > 0 && seconds < 1<<40) {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000)))
}

// bareMessageID is a Message-ID without angle brackets.
func bareMessageID(s looseString) string { return strings.Trim(string(s), "<> \t\r\n") }

// reportID puts a provider's id of a report together with what tells its
// recipients apart; empty where there is none.
func reportID(id looseString, rest ...string) string {
	if id == "" {
		return ""
	}
	return string(id) + "\x00" + strings.Join(rest, "\x00")
}

// classifyQuoted judges a bounce of a provider by what it quotes of the other server, by the code
// that it states, and by its own class. The words of the provider for the kind of bounce stay.
func (f *Report) classifyQuoted(stated looseString, e bounce.Evidence) {
	if bounce.IsStatus(string(stated)) {
		e.Status = string(stated)
	}
	j := bounce.Classify(e)
	if f.Class, f.Reason, f.Enhanced = j.Class, j.Reason, j.Status; f.Enhanced == "" {
		f.Enhanced = string(stated)
	}
}

// codeOf is the enhanced code in a server's words that says why, or else the one that a report
// states.
func codeOf(stated looseString, words looseString) string {
	found := bounce.StatusIn(firstBytes(string(words), maxDiagnostic))
	if found != "" && (bounce.SaysWhy(found) || !bounce.IsStatus(string(stated))) {
		return found
	}
	return string(stated)
}
