// Package reports takes the reports that receivers of mail send about domains of teams: DMARC aggregate reports and TLS
// reports. It stores them with sums by day and by source, describes in sentences what they say, and warns teams.
//
// Failure policy: a report counts only if it can be trusted: its reporter is authenticated, and this server sent mail of
// the domain in its period; or the team uploaded it. All others are stored apart, enter no sum, and warn nobody. What
// can't be read is refused as a whole, and changes nothing.
package reports

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/fair"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/mailauth"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements reports.
type Service struct {
	*base.Base
	events *webhooks.Service
	// Check authenticates the sender of a message. Set before use.
	Check func(ctx context.Context, in mailauth.Input) app.ReceivedAuth
	// Resolver looks up reverse names; nil: they are not looked up.
	Resolver app.DNSLookup

	reading *fair.Semaphore[string] // reports that are read at the same time, by team
	names   *nameLookups
}

// readAtOnce is how many reports are read at the same time. Each may need some 60 MB.
const readAtOnce = 2

// New makes the service. resolver looks up reverse names; nil: they are not looked up.
func New(b *base.Base, events *webhooks.Service, resolver app.DNSLookup) *Service {
	return &Service{Base: b, events: events, Resolver: resolver, reading: fair.New(fair.Config[string]{Capacity: readAtOnce}), names: newNameLookups()}
}

// Errors of Recipient and Take.
var (
	// ErrNotHere: no domain of this server gets reports at the address.
	ErrNotHere = errors.New("reports: the address gets no reports here")
	// ErrNotNow: the reporter can't be authenticated at present, since name servers do not answer.
	ErrNotNow = errors.New("reports: the reporter can't be authenticated at present")
)

// Target is a domain that gets reports at an accepted address.
type Target struct {
	Kind             app.MailReportKind
	TeamID, DomainID string
	Domain           string
}

// Delivery is a message with a report as a peer transferred it.
type Delivery struct {
	RemoteIP netip.Addr
	Helo     string
	MailFrom string // empty: the null sender
	To       []Target
	Raw      io.ReaderAt
	Size     int64
}

// Host is the host of the addresses for reports; empty: this server receives none.
func (s *Service) Host() string { return s.Settings.ReportHost() }

// IsAddress reports whether an address has the form of one for reports, at the host of this server. Only Recipient
// verifies it.
func (s *Service) IsAddress(address string) bool {
	local, host, _ := strings.Cut(address, "@")
	prefix, _, found := strings.Cut(local, "+")
	return found && (strings.EqualFold(prefix, string(app.ReportDMARC)) || strings.EqualFold(prefix, string(app.ReportTLS))) && s.Host() != "" && strings.EqualFold(mailbox.FoldDomain(host), s.Host())
}

// Recipient returns the domain that gets reports at an address. Errors: ErrNotHere, those of the store.
func (s *Service) Recipient(ctx context.Context, address string) (t Target, err error) {
	kind, id, ok := s.Sealer.ReadReportAddress(address, s.Host())
	if !ok {
		return t, ErrNotHere
	}
	t = Target{Kind: kind, DomainID: id}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		t.TeamID, t.Domain, err = r.ReportDomain(id)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		err = ErrNotHere
	}
	return t, err
}

// read runs fn while at most readAtOnce reports are read, in turns of teams.
func (s *Service) read(ctx context.Context, teamID string, fn func() error) error {
	if err := s.reading.Acquire(ctx, teamID, 1); err != nil {
		return err
	}
	defer s.reading.Release(teamID, 1)
	return fn()
}
