package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SuppressionOrigin is why an address is on a team's suppression list.
type SuppressionOrigin string

// The origins.
const (
	OriginBounce      SuppressionOrigin = "bounce"
	OriginComplaint   SuppressionOrigin = "complaint"
	OriginManual      SuppressionOrigin = "manual"
	OriginUnsubscribe SuppressionOrigin = "unsubscribe"
)

// blocks reports whether a suppression of this origin blocks a send. After an unsubscribe, mail
// without a topic is still sent.
func (o SuppressionOrigin) blocks(hasTopic bool) bool {
	return o != OriginUnsubscribe || hasTopic
}

// Validate checks that the origin is one of the four.
func (o SuppressionOrigin) Validate() error {
	switch o {
	case OriginBounce, OriginComplaint, OriginManual, OriginUnsubscribe:
		return nil
	}
	return Invalid("origin", "must be bounce, complaint, manual or unsubscribe")
}

// Suppression is an address that a team must not send to.
type Suppression struct {
	ID        string
	TeamID    string
	Email     string      // as the caller wrote it, trimmed and in lower case
	Key       AddressKey  // not stored
	Hash      AddressHash // of Key; the suppression is looked up by it
	Origin    SuppressionOrigin
	SourceID  string // email or contact that caused it; empty: none
	CreatedAt time.Time
}

// reason returns why a recipient was skipped.
func (s *Suppression) reason() string {
	return fmt.Sprintf("Not sent to this recipient: the address is on the suppression list since %s (origin %s)", FormatTime(s.CreatedAt), s.Origin)
}

// Blocked holds the reasons for not sending to addresses, by address key.
type Blocked map[AddressKey]string

// NewBlocked returns the suppressions of a list that apply to a send with or without a topic.
func NewBlocked(list []Suppression, hasTopic bool) Blocked {
	out := make(Blocked, len(list))
	for i := range list {
		if list[i].Origin.blocks(hasTopic) {
			out[list[i].Key] = list[i].reason()
		}
	}
	return out
}

// Reason returns why mail to a mailbox is blocked; empty: it is not.
func (b Blocked) Reason(mailbox string) string {
	if len(b) == 0 {
		return ""
	}
	return b[KeyOf(mailbox)]
}

// Allowed returns the mailboxes that are not blocked, in order.
func (b Blocked) Allowed(mailboxes []string) []string {
	if len(b) == 0 {
		return mailboxes
	}
	return slices.DeleteFunc(slices.Clone(mailboxes), func(mailbox string) bool { return b.Reason(mailbox) != "" })
}

// BlocksAll reports whether all recipients in to are blocked, in which case the send is refused
// regardless of cc and bcc.
func (b Blocked) BlocksAll(to []Address) bool {
	return len(b) > 0 && !slices.ContainsFunc(to, func(a Address) bool { return b.Reason(a.Mailbox()) == "" })
}

// SuppressionInput is an address to suppress. An empty origin means manual.
type SuppressionInput struct {
	Email  string
	Origin SuppressionOrigin
}

// Validate checks address and origin and returns the suppression without id, team and time.
func (in *SuppressionInput) Validate() (Suppression, error) {
	if in.Email == "" {
		return Suppression{}, Invalid("email", "is required")
	}
	origin, err := originOrManual(in.Origin)
	if err != nil {
		return Suppression{}, err
	}
	return newSuppression("email", in.Email, origin)
}

// SuppressionBatch holds 1 to MaxSuppressionBatch addresses to suppress, possibly repeated. An
// empty origin means manual.
type SuppressionBatch struct {
	Emails []string
	Origin SuppressionOrigin
}

// Validate checks addresses and origin and returns a suppression for each address in order,
// without ids, team and times.
func (in *SuppressionBatch) Validate() ([]Suppression, error) {
	if err := checkBatch("emails", len(in.Emails)); err != nil {
		return nil, err
	}
	origin, err := originOrManual(in.Origin)
	if err != nil {
		return nil, err
	}
	out := make([]Suppression, len(in.Emails))
	for i, email := range in.Emails {
		if out[i], err = newSuppression(fmt.Sprintf("emails[%d]", i), email, origin); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SuppressionRemoval names 1 to MaxSuppressionBatch suppressions to remove, by addresses or ids.
type SuppressionRemoval struct {
	Emails []string
	IDs    []string
}

// Validate checks that exactly one of the two lists is given and that its items are valid. It
// returns distinct addresses or ids.
func (in *SuppressionRemoval) Validate() (addresses []AddressKey, ids []string, err error) {
	switch {
	case len(in.Emails) > 0 && len(in.IDs) > 0:
		return nil, nil, Invalid("emails", "and `ids` can't be used together")
	case len(in.Emails) == 0 && len(in.IDs) == 0:
		return nil, nil, Invalid("emails", "or `ids` is required")
	case len(in.IDs) > 0:
		ids, err = eachOnce("ids", in.IDs, func(field, s string) (string, error) {
			if id, ok := ParseID(s); ok {
				return id, nil
			}
			return "", Invalid(field, "must be the id of a suppression")
		})
		return nil, ids, err
	}
	addresses, err = eachOnce("emails", in.Emails, func(field, s string) (AddressKey, error) {
		_, address, err := ParseBareAddress(s)
		if err != nil {
			err = Invalid(field, "%s", err)
		}
		return address, err
	})
	return addresses, nil, err
}

func eachOnce[T comparable](field string, items []string, parse func(field, s string) (T, error)) ([]T, error) {
	if err := checkBatch(field, len(items)); err != nil {
		return nil, err
	}
	seen := make(map[T]bool, len(items))
	var out []T
	for i, item := range items {
		v, err := parse(fmt.Sprintf("%s[%d]", field, i), item)
		if err != nil {
			return nil, err
		}
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out, nil
}

func checkBatch(field string, n int) error {
	switch {
	case n == 0:
		return Invalid(field, "is required")
	case n > MaxSuppressionBatch:
		return Invalid(field, "can hold at most %d items", MaxSuppressionBatch)
	}
	return nil
}

func originOrManual(o SuppressionOrigin) (SuppressionOrigin, error) {
	if o == "" {
		return OriginManual, nil
	}
	return o, o.Validate()
}

func newSuppression(field, s string, origin SuppressionOrigin) (Suppression, error) {
	email, key, err := ParseBareAddress(s)
	if err != nil {
		return Suppression{}, Invalid(field, "%s", err)
	}
	return Suppression{Email: strings.ToLower(email), Key: key, Origin: origin}, nil
}

// ParseBareAddress parses an address without a display name, ignoring white space around it. email
// is the address as written. The error does not name a field.
func ParseBareAddress(s string) (email string, key AddressKey, err error) {
	s = strings.TrimSpace(s)
	a, err := ParseAddress(s)
	if err != nil {
		return "", AddressKey{}, err
	}
	if strings.ContainsAny(s, "<>") {
		return "", AddressKey{}, errors.New("must be an address alone, without a display name")
	}
	return s, a.Key(), nil
}

// OverriddenBy reports whether a suppression of this origin is replaced by the origin of a report.
// A bounce or complaint replaces unsubscribe, so that transactional mail is blocked too, and a
// complaint replaces a bounce. A manual suppression is never replaced.
func (o SuppressionOrigin) OverriddenBy(report SuppressionOrigin) bool {
	order := []SuppressionOrigin{OriginUnsubscribe, OriginBounce, OriginComplaint, OriginManual}
	return slices.Index(order, report) > slices.Index(order, o)
}

// WeakerThan reports whether other is the stronger origin when an import or a caller adds an
// address for both reasons. The stronger origin is kept in whatever order they arrive.
func (o SuppressionOrigin) WeakerThan(other SuppressionOrigin) bool {
	order := []SuppressionOrigin{OriginUnsubscribe, OriginManual, OriginBounce, OriginComplaint}
	return slices.Index(order, other) > slices.Index(order, o)
}
