package verdict

import (
	"strconv"
	"strings"
	"time"

	"mailer/app"
)

// VerdictParams are the values in the sentences of a verdict, under the names in templates. Unused
// values are empty.
type VerdictParams struct {
	Address         string `json:"address,omitempty" doc:"Of the recipient; of several, the first"`
	Domain          string `json:"domain,omitempty" doc:"Of the address"`
	FromDomain      string `json:"from_domain,omitempty" doc:"Of the sender"`
	Relay           string `json:"relay,omitempty" doc:"The region of the relay"`
	Region          string `json:"region,omitempty" doc:"The region, if a reserve sent it; because says why"`
	Because         string `json:"because,omitempty" doc:"Why a reserve sent it, in words"`
	Kept            string `json:"kept,omitempty" doc:"The only relay through which it may leave"`
	Server          string `json:"server,omitempty" doc:"Who answered so: the relay, or the domain of the address"`
	BroadcastID     string `json:"broadcast_id,omitempty"`
	Count           int    `json:"count,omitempty" doc:"Of recipients that this is about"`
	Total           int    `json:"total,omitempty" doc:"Of all recipients"`
	Reached         int    `json:"reached,omitempty" doc:"Of those to whom it was delivered, or, of mixed_sent, for whom the relay took it"`
	Attempts        int    `json:"attempts,omitempty" doc:"Tries that were begun"`
	ReplyCode       int    `json:"reply_code,omitempty"`
	EnhancedCode    string `json:"enhanced_code,omitempty"`
	Answer          string `json:"answer,omitempty" doc:"The reply code with the enhanced one; where there is neither, the words instead"`
	Said            string `json:"said,omitempty" doc:"The server's words, cut"`
	At              string `json:"at,omitempty" format:"date-time" doc:"When it happened; of several, the last"`
	Since           string `json:"since,omitempty" format:"date-time"`
	NextAt          string `json:"next_at,omitempty" format:"date-time" doc:"The next try"`
	Until           string `json:"until,omitempty" format:"date-time"`
	GivesUpAt       string `json:"gives_up_at,omitempty" format:"date-time" doc:"When it is tried no more"`
	SuppressedSince string `json:"suppressed_since,omitempty" format:"date-time" doc:"Absent: the address is not suppressed"`
	By              string `json:"by,omitempty" doc:"Who did it, in words"`
	Reason          string `json:"reason,omitempty" doc:"What the operator said"`
	Outcome         string `json:"outcome,omitempty" doc:"The outcome that a test recipient simulates"`
	Name            string `json:"name,omitempty" doc:"Of who answered; without a contact's name the address"`
	After           string `json:"after,omitempty" doc:"How long after it was sent, in words"`
}

// value is a parameter as text; empty: absent.
type value struct{ name, text string }

// values returns all parameters in the order of the fields.
func (p *VerdictParams) values() []value {
	return []value{
		{"address", p.Address}, {"domain", p.Domain}, {"from_domain", p.FromDomain}, {"relay", p.Relay}, {"region", p.Region}, {"because", p.Because}, {"kept", p.Kept}, {"server", p.Server}, {"broadcast_id", p.BroadcastID},
		{"count", number(p.Count)}, {"total", number(p.Total)}, {"reached", number(p.Reached)}, {"attempts", number(p.Attempts)},
		{"reply_code", number(p.ReplyCode)}, {"enhanced_code", p.EnhancedCode}, {"answer", p.Answer}, {"said", p.Said},
		{"at", p.At}, {"since", p.Since}, {"next_at", p.NextAt}, {"until", p.Until}, {"gives_up_at", p.GivesUpAt}, {"suppressed_since", p.SuppressedSince},
		{"by", p.By}, {"reason", p.Reason}, {"outcome", p.Outcome}, {"name", p.Name}, {"after", p.After},
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// stamp formats a time; empty: zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return app.FormatTime(t)
}

// maxQuote limits quotes of a server's text, in bytes.
const maxQuote = 120

// cut shortens a text at a space.
func cut(words string) string {
	words = strings.TrimSpace(words)
	if len(words) <= maxQuote {
		return strings.TrimRight(words, ".")
	}
	words = strings.ToValidUTF8(words[:maxQuote], "")
	if at := strings.LastIndexByte(words, ' '); at > maxQuote/2 {
		words = words[:at]
	}
	return words + " …"
}

// setAnswer sets the parameters about a server's answer.
func (p *VerdictParams) setAnswer(d *app.EventDetail) {
	p.ReplyCode, p.EnhancedCode = d.ReplyCode, d.EnhancedCode
	p.Said = d.Diagnostic
	if p.Said == "" {
		p.Said = d.Reply
	}
	p.Said = cut(p.Said)
	p.Answer = strings.TrimSpace(number(d.ReplyCode) + " " + d.EnhancedCode)
	if p.Answer == "" {
		p.Answer = p.Said
	}
}

// fill inserts values into a template: {name} is replaced by the value, and text in square
// brackets is left out if one of its values is absent.
func fill(template string, values []value) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "[")
		text, _ := put(before, values)
		out.WriteString(text)
		if !ok {
			return out.String()
		}
		inside, after, _ := strings.Cut(rest, "]")
		if text, whole := put(inside, values); whole {
			out.WriteString(text)
		}
		template = after
	}
}

// put inserts values into a text and reports whether none was absent.
func put(text string, values []value) (string, bool) {
	var out strings.Builder
	whole := true
	for {
		before, rest, ok := strings.Cut(text, "{")
		out.WriteString(before)
		if !ok {
			return out.String(), whole
		}
		name, after, _ := strings.Cut(rest, "}")
		found := ""
		for _, v := range values {
			if v.name == name {
				found = v.text
			}
		}
		whole = whole && found != ""
		out.WriteString(found)
		text = after
	}
}
