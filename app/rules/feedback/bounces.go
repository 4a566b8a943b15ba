package feedback

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/bounce"
)

// MaxBounceRead is how much of a message is read for what it reports, in bytes.
// Reports stand first; what follows is the message that they are about.
const MaxBounceRead = 512 << 10

// Limits on a message that anybody may have written.
const (
	maxBounceParts  = 50
	maxBounceDepth  = 8
	maxBounceHeader = 64 << 10 // bytes of the header of the message
	maxBouncePart   = 64 << 10 // bytes of a part that reports
	maxBounceFields = 500      // in a part that reports, and 100 groups of them
	maxBounceGroups = 100
	maxBounceValue  = 8 << 10 // bytes after which a value is not unfolded further
)

// Claim is what a message says about one recipient, before anything of it
// is believed. Recipient is empty; Named are the addresses that it names, in the form of
// plainAddress: the recipient as it was and as it became on the way. Empty: it names none.
type Claim struct {
	Report
	Addresses []string
	// sender is the sender of a bounce without a format. It is not the recipient that bounced:
	// whoever can write himself is there.
	sender string
}

// ReadBounce finds what a message that came to a return path reports: delivery
// status (RFC 3464, RFC 6533), complaints (RFC 5965), else the words of a bounce in no
// format. Automatic answers, receipts and all other mail report nothing. Of raw,
// the first MaxBounceRead bytes count. nullSender: it came with MAIL FROM:<>.
func ReadBounce(raw []byte, nullSender bool) []Claim {
	p := readParts(raw[:min(len(raw), MaxBounceRead)])
	if p.feedback != nil {
		return p.sign(readComplaint(p.feedback))
	}
	for _, status := range [][]byte{p.status, p.misplaced} {
		if reports, ok := p.readDeliveryStatus(status); ok {
			return p.sign(reports)
		}
	}
	return p.sign(p.readFreeForm(nullSender))
}

// sign notes in each report which email came back, as far as the message shows.
// Where that has several email ids, somebody else wrote one of them, and only the
// return path says which email it was.
func (p *bounceParts) sign(reports []Claim) []Claim {
	ids := p.original.all(strings.ToLower(app.EmailIDHeader))
	messageID := firstBytes(strings.Trim(p.original.get("message-id"), "<> \t"), mailbox.MaxLength)
	emailID := ""
	switch len(ids) {
	case 0:
	case 1:
		emailID, _ = app.ParseID(ids[0])
	default:
		messageID = ""
	}
	for i := range reports {
		r := &reports[i]
		r.Source, r.EmailID, r.MessageID = app.BounceSource, emailID, messageID
	}
	return reports
}

// fields are the fields of a header or a group: names in lower case, values
// unfolded.
type fields []field

type field struct{ name, value string }

func (f fields) get(name string) string {
	for _, x := range f {
		if x.name == name {
			return x.value
		}
	}
	return ""
}

func (f fields) all(name string) (values []string) {
	for _, x := range f {
		if x.name == name {
			values = append(values, x.value)
		}
	}
	return values
}

// readFields reads fields up to the first blank line.
func readFields(b []byte) fields {
	groups := readGroups(b, 1)
	if len(groups) == 0 {
		return fields{}
	}
	return groups[0]
}

// readGroups reads up to most groups of fields that blank lines part. It is not
// go-message's reader because that gives up at the first line that is none, and
// reports of the world have such lines.
func readGroups(b []byte, most int) (groups []fields) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(make([]byte, 0, 4<<10), maxBouncePart+1)
	var group fields
	for n := 0; lines.Scan() && n < maxBounceFields*4 && len(groups) < most; n++ {
		line := strings.TrimRight(lines.Text(), " \t\r")
		name, value, ok := strings.Cut(line, ":")
		switch {
		case line == "":
			if group != nil {
				groups, group = append(groups, group), nil
			}
		case line[0] == ' ' || line[0] == '\t':
			if len(group) > 0 && len(group[len(group)-1].value) < maxBounceValue {
				last := &group[len(group)-1]
				last.value = strings.TrimLeft(last.value+" "+strings.TrimLeft(line, " \t"), " ")
			}
		case ok && len(group) < maxBounceFields:
			group = append(group, field{strings.ToLower(strings.TrimRight(name, " \t")), strings.TrimLeft(value, " \t")})
		}
	}
	if group != nil && len(groups) < most {
		groups = append(groups, group)
	}
	return groups
}

// Authenticate returns what a return path proves of the reports in a message that came
// to it; recipients is the envelope of the path's email, by number. Whoever knows
// a return path had that email, or carried it: so nothing is believed of another
// email, nor of an address that is not in its envelope. A path for one recipient
// says by itself who bounced; a bounce that names only others (mail that was
// forwarded) is then Undetermined, and all else about others is dropped.
//
// A path for several recipients does not tell which of them knows it. A report about one of
// them by name shows in the timeline, and suppresses nobody: it is Undetermined, and a
// complaint is dropped.
func Authenticate(p app.ReturnPath, reports []Claim, recipients map[int]string) []Report {
	var sure, unsure []Report
	for _, r := range reports {
		if r.EmailID != "" && r.EmailID != p.EmailID {
			continue
		}
		f, named := r.Report, named(p, r.Addresses, recipients)
		f.EmailID, f.MessageID, f.Recipient = p.EmailID, "", named
		switch {
		case named != "" && named != app.Erased:
			if r.sender != "" && r.sender == plainAddress(named) {
				continue // an answer
			}
			if p.Recipient == app.AllRecipients {
				if f.Kind == Complained {
					continue
				}
				f.markUnauthenticated()
			}
			sure = append(sure, withID(p, f))
		case p.Recipient == app.AllRecipients || recipients[p.Recipient] == "" || recipients[p.Recipient] == app.Erased || f.Kind != Bounced:
		case r.sender != "" && r.sender == plainAddress(recipients[p.Recipient]):
		default:
			f.Recipient = recipients[p.Recipient]
			f.markUnauthenticated()
			unsure = append(unsure, withID(p, f))
		}
	}
	if len(sure) == 0 && len(unsure) > 0 {
		return unsure[:1]
	}
	slices.SortStableFunc(sure, func(a, b Report) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(sure, func(a, b Report) bool { return a.ID == b.ID })
}

// markUnauthenticated takes from a bounce what would suppress its recipient.
func (f *Report) markUnauthenticated() {
	if f.Kind == Bounced {
		f.Unauthenticated, f.Class, f.Bounce, f.SubType = true, bounce.Unknown, app.BounceUndetermined, bounce.General
	}
}

// named returns the recipient that a report is surely about; empty: none.
func named(p app.ReturnPath, names []string, recipients map[int]string) string {
	if p.Recipient != app.AllRecipients {
		own := recipients[p.Recipient]
		if len(names) == 0 || slices.Contains(names, app.KeyOf(own).String()) {
			return own
		}
		return ""
	}
	for _, address := range recipients {
		if slices.Contains(names, app.KeyOf(address).String()) {
			return address
		}
	}
	return ""
}

// withID returns a report with its id: a hash of what it says about whom, so that
// the same report counts once however often it comes.
func withID(p app.ReturnPath, f Report) Report {
	h := sha256.New()
	for _, part := range []string{p.EmailID, app.KeyOf(f.Recipient).String(), string(f.Kind), f.Enhanced, f.Diagnostic} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	f.ID = hex.EncodeToString(h.Sum(nil)[:16])
	return f
}
