package domains

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/dnscheck"
	"mailer/app/rules/dnsplan"
	"mailer/db"
)

// DNSPurpose is the purpose that credentials of DNS zones are sealed for.
const DNSPurpose = "dns"

const (
	// maxPublishing is how many domains are published at the same time, and how many wait of a team.
	maxPublishing = 4
	// publishTimeout bounds all requests to a provider for one plan, and for applying one.
	publishTimeout = time.Minute
	maxToken       = 4096 // bytes
)

// PublishInput says what to publish and how.
type PublishInput struct {
	// Credentials open the zone; without a provider, those that were remembered are used. Only the
	// operator may name a server.
	Credentials dnsplan.Credentials
	// Remember stores the credentials, sealed, until the domain is deleted or they are forgotten.
	Remember bool
	// DMARCReports is an email address that the DMARC record is to name for aggregate reports;
	// empty: none.
	DMARCReports string
}

// Publication is a plan and the changes that were made.
type Publication struct {
	Domain   app.Domain
	Provider string
	Plan     dnsplan.Plan
	Written  []dnsplan.Change
}

// publisher publishes the records of one domain.
type publisher struct {
	*Service
	domain   app.Domain
	provider dnsplan.Provider
	in       PublishInput
	kept     bool // the credentials were remembered before
	zones    map[string]string
	plan     dnsplan.Plan
}

// PlanDNS returns what PublishDNS would do now. It changes nothing. Errors: CodeNotFound,
// CodeValidation, CodeConflict, CodeServiceUnavailable, CodeRateLimitExceeded.
func (s *Service) PlanDNS(ctx context.Context, key *app.Key, id string, in PublishInput) (Publication, error) {
	if err := s.publishing.Acquire(ctx, key.TeamID, 1); err != nil {
		return Publication{}, err
	}
	defer s.publishing.Release(key.TeamID, 1)
	p, err := s.planDNS(ctx, key, id, in)
	if err != nil {
		return Publication{}, err
	}
	return p.publication(nil), nil
}

// PublishDNS makes the changes of a plan, but for its conflicts, remembers what was published, and
// starts a check of the domain. planID is the id of the plan that was shown: CodeConflict if another
// one is due by now. After the first failure no more is written; the error says what was written
// before. Errors: those of PlanDNS.
func (s *Service) PublishDNS(ctx context.Context, key *app.Key, id string, in PublishInput, planID string) (Publication, error) {
	out, err := s.publish(ctx, key, id, in, planID)
	if len(out.Written) > 0 || err == nil && out.Domain.Status != app.DomainVerified {
		d, verr := s.beginVerifying(context.WithoutCancel(ctx), key.TeamID, id, true)
		if verr == nil {
			s.startCheck(d)
		}
		err = cmp.Or(err, verr)
	}
	return out, err
}

// PublishAndCheck is PublishDNS for the operator, and waits for the outcome of the check.
func (s *Service) PublishAndCheck(ctx context.Context, teamID, id string, in PublishInput, planID string) (Publication, error) {
	out, err := s.publish(ctx, &app.Key{TeamID: teamID, Role: app.RoleOwner}, id, in, planID)
	if err != nil {
		return out, err
	}
	if out.Domain, err = s.beginVerifying(ctx, teamID, id, len(out.Written) > 0); err != nil {
		return out, err
	}
	if err := s.check(ctx, &out.Domain); err != nil {
		return out, base.Lookup("domain", err)
	}
	out.Domain, err = s.DomainByName(ctx, teamID, out.Domain.Name)
	return out, err
}

// ForgetDNS deletes the remembered credentials of a domain's zone. Errors: CodeNotFound.
func (s *Service) ForgetDNS(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		d, err := tx.Domain(key.TeamID, id)
		if err != nil {
			return err
		}
		if d.DNS.Provider == "" {
			return app.Errorf(app.CodeNotFound, "No DNS token is remembered for %s", d.Name)
		}
		if err := tx.DeleteDNSCredentials(d.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "domain.forget_dns", d.ID, map[string]any{"name": d.Name, "provider": d.DNS.Provider}, nil)
	})
	return base.Lookup("domain", err)
}

func (s *Service) publish(ctx context.Context, key *app.Key, id string, in PublishInput, planID string) (Publication, error) {
	if err := s.publishing.Acquire(ctx, key.TeamID, 1); err != nil {
		return Publication{}, err
	}
	defer s.publishing.Release(key.TeamID, 1)
	p, err := s.planDNS(ctx, key, id, in)
	if err != nil {
		return Publication{}, err
	}
	if p.plan.ID() != planID {
		return Publication{}, app.Errorf(app.CodeConflict, "The records or the domain changed meanwhile, so nothing was written; look at the changes again")
	}
	// From here on the outcome of each request is stored, whether or not the caller still waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := p.remember(ctx); err != nil {
		return Publication{}, err
	}
	written, err := p.apply(ctx)
	return p.publication(written), err
}

func (p *publisher) publication(written []dnsplan.Change) Publication {
	return Publication{Domain: p.domain, Provider: p.in.Credentials.Provider, Plan: p.plan, Written: written}
}

// planDNS reads what exists at the provider and makes the plan.
func (s *Service) planDNS(ctx context.Context, key *app.Key, id string, in PublishInput) (*publisher, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &publisher{Service: s, in: in, zones: map[string]string{}}
	var published []dnsplan.Record
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if p.domain, err = r.Domain(key.TeamID, id); err != nil {
			return err
		}
		if published, err = r.Published(p.domain.ID); err != nil || in.Credentials.Provider != "" {
			return err
		}
		return p.recall(r)
	})
	if err != nil {
		return nil, base.Lookup("domain", err)
	}
	if s.OpenDNS == nil {
		return nil, app.Errorf(app.CodeServiceUnavailable, "This server can't change DNS records")
	}
	if p.provider, err = s.OpenDNS(p.in.Credentials); err != nil {
		return nil, dnsError(err)
	}
	if s.Resolver != nil {
		if p.domain.Checks, err = s.CheckDNS(ctx, key.TeamID, id); err != nil {
			return nil, base.Lookup("domain", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	input, err := p.input(ctx, published)
	if err != nil {
		return nil, dnsError(err)
	}
	p.plan = dnsplan.Make(input)
	return p, nil
}

// check checks the input. Errors: CodeValidation.
func (in *PublishInput) check() error {
	c := &in.Credentials
	switch {
	case c.Provider == "" && (c.Token != "" || in.Remember):
		return app.Invalid("provider", "is required together with a token")
	case c.Provider == "":
	case strings.TrimSpace(c.Token) == "":
		return app.Invalid("token", "is required")
	case len(c.Token) > maxToken:
		return app.Invalid("token", "must have at most %d bytes", maxToken)
	case c.Provider != dnsplan.RFC2136 && strings.ContainsFunc(strings.TrimSpace(c.Token), func(r rune) bool { return r <= ' ' || r > '~' }):
		return app.Invalid("token", "has a character that no token has")
	}
	c.Token = strings.TrimSpace(c.Token)
	if in.DMARCReports == "" {
		return nil
	}
	m, err := mailbox.Parse(in.DMARCReports)
	if err != nil || m.Name != "" || strings.ContainsAny(m.Local, ",;!") {
		return app.Invalid("dmarc_reports", "must be an email address without , ; and !")
	}
	in.DMARCReports = m.Local + "@" + m.Domain
	return nil
}

// recall reads the remembered credentials. Errors: CodeValidation if there are none.
func (p *publisher) recall(r *db.Reader) error {
	sealed, err := r.DNSCredentials(p.domain.ID)
	if errors.Is(err, db.ErrNotFound) {
		return app.Invalid("provider", "is required: no token is remembered for %s", p.domain.Name)
	} else if err != nil {
		return err
	}
	text, err := p.Sealer.Open(DNSPurpose, p.domain.ID, sealed)
	if err != nil {
		return fmt.Errorf("open the DNS credentials of %s: %w", p.domain.Name, err)
	}
	p.kept = true
	if json.Unmarshal(text, &p.in.Credentials) != nil { // the error could contain the token
		return fmt.Errorf("the DNS credentials of %s can't be read", p.domain.Name)
	}
	return nil
}

// remember stores the credentials if that is requested.
func (p *publisher) remember(ctx context.Context) error {
	if !p.in.Remember || p.kept {
		return nil
	}
	text, err := json.Marshal(p.in.Credentials)
	if err != nil {
		return errors.New("encode DNS credentials")
	}
	sealed := p.Sealer.Seal(DNSPurpose, p.domain.ID, text)
	err = p.DB.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Domain(p.domain.TeamID, p.domain.ID); err != nil {
			return err
		}
		if err := tx.SetDNSCredentials(p.domain.ID, p.in.Credentials.Provider, sealed); err != nil {
			return err
		}
		return base.Audit(ctx, tx, p.domain.TeamID, "domain.remember_dns", p.domain.ID, nil, map[string]any{"name": p.domain.Name, "provider": p.in.Credentials.Provider})
	})
	return base.Lookup("domain", err)
}

// input reads what exists at the names of wanted and published records.
func (p *publisher) input(ctx context.Context, published []dnsplan.Record) (dnsplan.Input, error) {
	needs, _ := p.recordInputs(&p.domain)
	in := dnsplan.Input{Wanted: p.DomainRecords(&p.domain), Names: map[string]dnsplan.Name{}, Published: published, SPFTerms: slices.Concat([]string{needs.SPF}, needs.ReserveSPF), DMARCReports: p.in.DMARCReports, OwnReports: needs.Reports}
	if err := p.read(ctx, in.Names, p.domain.Name); err != nil {
		return in, err
	}
	for _, w := range in.Wanted {
		if err := p.read(ctx, in.Names, w.Name); err != nil {
			return in, err
		}
	}
	for _, r := range published {
		if err := p.read(ctx, in.Names, r.Name); err != nil && !isFailure(err, dnsplan.FailedZone) {
			return in, err
		}
	}
	if p.Resolver != nil {
		in.SPFFault = func(name, record string) string {
			fault, err := dnscheck.SPFFault(ctx, name, record, p.Resolver)
			if err != nil {
				return "whether it has too many DNS look-ups is unknown, since a lookup failed; try again later"
			}
			return fault
		}
	}
	return in, p.readPolicy(ctx, &in)
}

func isFailure(err error, f dnsplan.Failure) bool {
	e, ok := errors.AsType[*dnsplan.ProviderError](err)
	return ok && e.Failure == f
}

// read reads what exists at a name, once.
func (p *publisher) read(ctx context.Context, names map[string]dnsplan.Name, name string) error {
	if _, known := names[name]; known {
		return nil
	}
	zone, err := p.provider.Zone(ctx, name)
	if err != nil {
		return err
	}
	records, err := p.provider.Records(ctx, zone, name)
	if err != nil {
		return err
	}
	p.zones[name] = zone
	names[name] = dnsplan.Name{Apex: name == zone, Records: records}
	return nil
}

// readPolicy finds the domain above whose DMARC policy counts while the domain has none. A record of
// the domain itself would override that policy.
func (p *publisher) readPolicy(ctx context.Context, in *dnsplan.Input) error {
	org := app.OrganizationalDomain(p.domain.Name)
	if org == p.domain.Name {
		return nil
	}
	names := map[string]dnsplan.Name{}
	err := p.read(ctx, names, app.DmarcName(org))
	if err != nil && !isFailure(err, dnsplan.FailedZone) && !isFailure(err, dnsplan.FailedToken) {
		return err
	}
	for _, r := range names[app.DmarcName(org)].Records {
		if r.Type == string(app.DNSText) && dnscheck.IsDMARC(r.Value) {
			in.PolicyOf = org
		}
	}
	i := slices.IndexFunc(in.Wanted, func(w app.DNSRecord) bool { return w.Record == app.RecordDMARC })
	switch w := in.Wanted[i]; {
	case in.PolicyOf != "":
	case w.InheritedFrom != "":
		in.PolicyOf = w.InheritedFrom
	case err != nil && w.Live == app.LiveUnknown:
		in.PolicyUnknown = true
	}
	return nil
}

// apply makes the changes of the plan, one after the other, and stores each before the next.
func (p *publisher) apply(ctx context.Context) (written []dnsplan.Change, err error) {
	for _, c := range p.plan.Changes {
		if err := p.provider.Apply(ctx, p.zones[c.Name], c); err != nil {
			return written, after(dnsError(err), written)
		}
		written = append(written, c)
		err := p.DB.Write(context.WithoutCancel(ctx), func(tx *db.Tx) error { return p.store(ctx, tx, &c) })
		if err != nil {
			return written, after(base.Lookup("domain", err), written)
		}
	}
	return written, nil
}

// store remembers what a change published, and appends it to the audit log. A record of others that
// was completed does not become one of this server.
func (p *publisher) store(ctx context.Context, tx *db.Tx, c *dnsplan.Change) error {
	d := &p.domain
	if _, err := tx.Domain(d.TeamID, d.ID); err == nil { // otherwise it was deleted meanwhile
		if c.Before != "" {
			if err := tx.DeletePublished(d.ID, dnsplan.Record{Name: c.Name, Type: c.Type, Value: c.Before}); err != nil {
				return err
			}
		}
		if c.After != "" && !c.Completes && len(c.After) <= app.MaxPublishedValue {
			if err := tx.AddPublished(d.ID, dnsplan.Record{Name: c.Name, Type: c.Type, Value: c.After}); err != nil {
				return err
			}
		}
	} else if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	side := func(value string, priority int) any {
		if value == "" {
			return nil
		}
		out := map[string]any{"domain": d.Name, "provider": p.in.Credentials.Provider, "name": c.Name, "type": c.Type, "value": value}
		if priority > 0 {
			out["priority"] = priority
		}
		return out
	}
	return base.Audit(ctx, tx, d.TeamID, "domain.publish", d.ID, side(c.Before, c.BeforePriority), side(c.After, c.Priority))
}

// after adds to an error what was written before it.
func after(err error, written []dnsplan.Change) error {
	e, ok := errors.AsType[*app.Error](err)
	if !ok || len(written) == 0 {
		return err
	}
	names := make([]string, len(written))
	for i, c := range written {
		names[i] = c.Type + " " + c.Name
	}
	out := *e
	out.Message = fmt.Sprintf("%s. Written before that, and remembered: %s", strings.TrimSuffix(e.Message, "."), strings.Join(names, ", "))
	return &out
}

// dnsError converts a failure of a provider to an error of the API.
func dnsError(err error) error {
	e, ok := errors.AsType[*dnsplan.ProviderError](err)
	if !ok {
		return base.Unavailable(err)
	}
	code := app.CodeConflict
	switch e.Failure {
	case dnsplan.FailedToken, dnsplan.FailedZone:
		code = app.CodeValidation
	case dnsplan.FailedRate, dnsplan.FailedUnreachable:
		code = app.CodeServiceUnavailable
	}
	text := e.Error()
	return &app.Error{Code: code, Message: strings.ToUpper(text[:1]) + text[1:], RetryAfter: e.RetryAfter}
}
