package reports

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/dnscheck"
	"mailer/db"
)

// Limits of look-ups of reverse names.
const (
	maxNames      = 20 // failing sources of one domain
	namesKept     = 7 * 24 * time.Hour
	nameTimeout   = 5 * time.Second
	namesTimeout  = time.Minute
	maxNameRounds = 2 // at the same time
)

// nameLookups bounds the look-ups that run in the background.
type nameLookups struct {
	mu      sync.Mutex
	running map[string]bool // addresses
	rounds  int
}

func newNameLookups() *nameLookups { return &nameLookups{running: map[string]bool{}} }

// begin returns the addresses that are not being looked up, and notes that they are; nil: enough look-ups run.
func (n *nameLookups) begin(addresses []string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rounds >= maxNameRounds {
		return nil
	}
	addresses = slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return n.running[a] })
	if len(addresses) > 0 {
		n.rounds++
	}
	for _, a := range addresses {
		n.running[a] = true
	}
	return addresses
}

func (n *nameLookups) end(addresses []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rounds--
	for _, a := range addresses {
		delete(n.running, a)
	}
}

// reverseNames returns the names of the sources with the most failed messages that are known, and looks up the others in
// the background, for the next call.
func (s *Service) reverseNames(ctx context.Context, sources []app.ReportSource) (map[string]string, error) {
	sources = slices.DeleteFunc(slices.Clone(sources), func(o app.ReportSource) bool { return o.Messages == o.Passed || o.Source == app.OtherSources })
	sortFailing(sources)
	var addresses []string
	for i := range sources[:min(len(sources), maxNames)] {
		addresses = append(addresses, sources[i].Source)
	}
	known, err := db.Get(ctx, s.DB, func(r *db.Reader) (map[string]db.ReverseName, error) { return r.ReverseNames(addresses) })
	if err != nil {
		return nil, base.Unavailable(err)
	}
	names := map[string]string{}
	for a, n := range known {
		if n.Name != "" {
			names[a] = n.Name
		}
	}
	if s.Resolver == nil || s.Claiming.Err() != nil {
		return names, nil
	}
	addresses = s.names.begin(slices.DeleteFunc(addresses, func(a string) bool { n, ok := known[a]; return ok && clock.Since(n.CheckedAt) < namesKept }))
	if len(addresses) > 0 {
		s.Workers.Go(func() {
			defer s.names.end(addresses)
			s.lookUp(addresses)
		})
	}
	return names, nil
}

// lookUp looks up the reverse names of addresses and stores them. An address whose name servers do not answer stays
// unknown.
func (s *Service) lookUp(addresses []string) {
	ctx, cancel := context.WithTimeout(s.Claiming, namesTimeout)
	defer cancel()
	for _, a := range addresses {
		name, err := s.reverseName(ctx, a)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.Log.Debug("look up the reverse name of a source in reports", "address", a, "err", err)
			continue
		}
		if err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetReverseName(a, name) }); err != nil {
			if ctx.Err() == nil {
				s.Log.Error("store the reverse name of a source in reports", "err", err)
			}
			return
		}
	}
}

// reverseName returns a name of an address that leads back to it; empty: there is none.
func (s *Service) reverseName(ctx context.Context, address string) (string, error) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	name, confirmed, err := dnscheck.ReverseName(ctx, s.Resolver, ip)
	if err != nil || !confirmed {
		return "", err
	}
	return app.CutText(name, app.MaxDomain), nil
}
