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

// MaxBounceRead is how much of a message is parsed, in bytes. Reports come first; the returned
// message follows.
const MaxBounceRead = 512 << 10

// Limits of an untrusted message.
const (
	maxBounceParts  = 50
	maxBounceDepth  = 8
	maxBounceHeader = 64 << 10 // bytes of the message header
	maxBouncePart   = 64 << 10 // bytes of a report part
	maxBounceFields = 500      // in a report part, with up to 100 groups
	maxBounceGroups = 100
	maxBounceValue  = 8 << 10 // bytes after which a value is not unfolded further
)

// Claim is an unverified report about one recipient. Recipient is empty. Addresses are those that
// the message names, in the form of plainAddress: the original and the rewritten recipient. Empty:
// none.
type Claim struct {
	Report
	Addresses []string
	// sender is the sender of a free-form bounce. It can't be the recipient that bounced, since
	// that one can write mail.
	sender string
}

// ReadBounce parses a message to a return path: delivery status (RFC 3464, RFC 6533), complaint
// (RFC 5965), or a free-form bounce. Automatic replies, receipts and other mail yield nothing. It
// reads the first MaxBounceRead bytes of raw. nullSender: MAIL FROM:<>.
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

// sign sets in each report the email that was returned, if the message contains it. If it has
// several email ids, one is forged, and only the return path identifies the email.
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

// fields are the fields of a header or group: names in lower case, values unfolded.
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

// readFields parses fields up to the first blank line.
func readFields(b []byte) fields {
	groups := readGroups(b, 1)
	if len(groups) == 0 {
		return fields{}
	}
	return groups[0]
}

// readGroups parses at most maxGroups groups of fields, separated by blank lines. go-message's
// reader is not used because it stops at the first invalid line, which real reports have.
func readGroups(b []byte, maxGroups int) (groups []fields) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(make([]byte, 0, 4<<10), maxBouncePart+1)
	var group fields
	for n := 0; lines.Scan() && n < maxBounceFields*4 && len(groups) < maxGroups; n++ {
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
	if group != nil && len(groups) < maxGroups {
		groups = append(groups, group)
	}
	return groups
}

// Authenticate returns the reports in a message that its return path proves. recipients is the
// envelope of the path's email, by number. Whoever knows a return path has received or carried the
// email, so reports about other emails and about addresses outside of its envelope are not
// accepted. A path for one recipient identifies the recipient. A bounce that names only others
// (forwarded mail) becomes Undetermined, and other reports about them are dropped.
//
// A path for several recipients does not say who knows it. A bounce of one of them by name is
// shown in the timeline as Undetermined and suppresses nobody; a complaint is dropped.
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

// markUnauthenticated removes what would suppress the recipient from a bounce.
func (f *Report) markUnauthenticated() {
	if f.Kind == Bounced {
		f.Unauthenticated, f.Class, f.Bounce, f.SubType = true, bounce.Unknown, app.BounceUndetermined, bounce.General
	}
}

// named returns the recipient that a report is certainly about; empty: none.
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

// withID sets the id of a report: a hash of its content, so that repetitions count once.
func withID(p app.ReturnPath, f Report) Report {
	h := sha256.New()
	for _, part := range []string{p.EmailID, app.KeyOf(f.Recipient).String(), string(f.Kind), f.Enhanced, f.Diagnostic} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	f.ID = hex.EncodeToString(h.Sum(nil)[:16])
	return f
}
