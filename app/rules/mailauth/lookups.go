package mailauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// Limits of one DNS answer.
const (
	maxRecords = 1000
	maxText    = 8 << 10 // bytes of a TXT record that is used
	maxLabel   = 63
)

var (
	errManyLookups = errors.New("the check has made too many DNS lookups")
	errLargeAnswer = errors.New("the DNS answer is too large")
)

// lookups makes the DNS lookups of one check, each once. It is not safe for concurrent use.
type lookups struct {
	ask   app.DNSLookup
	left  int // remaining lookups
	known map[question]answer
	// refused is why the last lookup that exceeded a limit, or found a wrong record, was useless.
	refused error
}

type question struct {
	name string
	t    app.DNSType
}

type answer struct {
	records []app.DNSValue
	err     error
}

func newLookups(ask app.DNSLookup, limit int) *lookups {
	return &lookups{ask: ask, left: limit, known: map[question]answer{}}
}

// find returns the records of a name. The error is a *net.DNSError, which is temporary or says that the name
// does not exist, or it is permanent: errManyLookups or errLargeAnswer.
func (l *lookups) find(ctx context.Context, name string, t app.DNSType) ([]app.DNSValue, error) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !validName(name) {
		return nil, notFound(name)
	}
	q := question{name, t}
	a, ok := l.known[q]
	if !ok {
		if l.left == 0 {
			l.refused = errManyLookups
			return nil, l.refused
		}
		l.left--
		a = l.lookup(ctx, q)
		l.known[q] = a
	}
	if errors.Is(a.err, errLargeAnswer) {
		l.refused = a.err
	}
	return a.records, a.err
}

func (l *lookups) lookup(ctx context.Context, q question) answer {
	found, err := l.ask(ctx, q.name, q.t)
	switch {
	case err != nil:
		return answer{err: &net.DNSError{Err: err.Error(), Name: q.name, IsTemporary: true}}
	case len(found.Records) > maxRecords:
		return answer{err: fmt.Errorf("%s %s: %w", q.t, q.name, errLargeAnswer)}
	case !found.NameExists:
		return answer{err: notFound(q.name)}
	}
	return answer{records: found.Records}
}

func notFound(name string) error {
	return &net.DNSError{Err: "no such name", Name: name, IsNotFound: true}
}

// texts returns the TXT records of a name that begin with prefix, which is in lower case, or the error of
// find. Letter case does not matter.
func (l *lookups) texts(ctx context.Context, name, prefix string) ([]string, error) {
	records, err := l.find(ctx, name, app.DNSText)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, r := range records {
		if len(r.Text) < len(prefix) || !strings.EqualFold(r.Text[:len(prefix)], prefix) {
			continue
		}
		if len(r.Text) > maxText {
			l.refused = fmt.Errorf("TXT %s: %w", name, errLargeAnswer)
			return nil, l.refused
		}
		texts = append(texts, r.Text)
	}
	return texts, nil
}

// validName reports whether a name can be in the DNS (RFC 1035 2.3.4) and has printable ASCII only. A lookup
// of other names may fail, which would be a temperror that the sender chose.
func validName(name string) bool {
	if len(name) > mailbox.MaxDomain || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return false
		}
	}
	return true
}
