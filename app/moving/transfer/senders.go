package transfer

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/archive"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/domains"
	"mailer/db"
)

// secretsOf reads the secrets of a kind by the id of their owner.
func (m *importer) secretsOf(kind archive.Kind) (map[string][]archive.Secret, error) {
	out := map[string][]archive.Secret{}
	var s archive.Secret
	err := m.r.Each(archive.Secrets, &s, func(int) error {
		if s.Kind == kind {
			out[s.Owner] = append(out[s.Owner], s)
		}
		return nil
	})
	return out, err
}

// domainsIn creates missing domains. With keys they continue unchanged; without, each gets a new
// key and new records.
func (m *importer) domainsIn(ctx context.Context) error {
	secrets, err := m.secretsOf(archive.Domains)
	if err != nil {
		return err
	}
	done := 0
	var in archive.Domain
	return m.r.Each(archive.Domains, &in, func(int) error {
		done++
		there, err := m.s.domains.DomainByName(ctx, m.team.ID, in.Name)
		id := there.ID
		if _, refused := refusalWords(err); err != nil && !refused {
			return fmt.Errorf("look for domain %s: %w", in.Name, err)
		}
		if err == nil {
			m.report.Domains = append(m.report.Domains, Thing{Name: there.Name, Status: string(there.Status)})
		} else if id, err = m.domain(ctx, &in, secrets[in.ID]); err != nil || id == "" {
			return err
		}
		m.domains[in.ID] = id
		if err := m.moved(archive.Domains, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Domains, done)
	})
}

// domain creates a domain; an empty id: it can't be created.
func (m *importer) domain(ctx context.Context, in *archive.Domain, secrets []archive.Secret) (id string, err error) {
	what := "domain " + in.Name
	input := app.DomainInput{Name: in.Name, ReturnPath: in.ReturnPath, OpenTracking: in.OpenTracking, ClickTracking: in.ClickTracking, TrackingSubdomain: in.TrackingSubdomain}
	regions := m.s.domains.Regions()
	for _, region := range regions {
		if region == in.Region {
			input.Region = region
		}
	}
	d, err := input.Validate(regions)
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	if m.r.Team.FromMailer() && in.Region != "" && d.Region != in.Region {
		m.unmovable(what, fmt.Sprintf("no relay here is called %s: its mail goes through %s", in.Region, d.Region))
	}
	d.ID, d.TeamID, d.CreatedAt, d.Status, d.Trusted = m.id(in.ID), m.team.ID, orDefault(in.CreatedAt, clock.Now().UTC()), app.DomainNotStarted, m.Trust && m.r.Team.FromMailer() && in.Trusted
	if d.Keys, err = m.pairs(&d, secrets); err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	d.Receiving, err = m.receiving(ctx, what, in, &d)
	if err != nil {
		return "", err
	}
	input.Receiving = d.Receiving
	sources, err := in.Sources.Validate()
	if err != nil {
		m.unmovable(what+": its named sources of reports", err.Error())
		sources = app.NamedSources{}
	}
	if len(d.Keys) == 0 {
		id, err := m.addDomain(ctx, what, input)
		if err != nil || id == "" {
			return id, err
		}
		return id, m.write(ctx, func(tx *db.Tx) error { return tx.SetNamedSources(m.team.ID, id, &sources) })
	}
	if in.Trusted && !d.Trusted && m.r.Team.FromMailer() {
		m.unmovable(what, fmt.Sprintf("an operator vouched for it there: here it is verified once its records are found in the DNS, or with `mailer domains trust %s`", d.Name))
	}
	d.Status, d.CheckAt = m.isTrusted(in.Status), clock.Now() // its former records; they are checked now
	if d.Status == app.DomainPending {
		d.PendingSince = clock.Now()
	}
	m.verified[d.Name] = d.Status == app.DomainVerified
	thing := Thing{Name: d.Name, Status: string(d.Status), Records: m.s.domains.DomainRecords(&d)}
	_, err = m.add(ctx, &m.report.Domains, what, thing, func(tx *db.Tx) (err error) {
		if err := m.s.teams.CheckDomainLimit(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if taken, err := tx.DomainIDTaken(d.ID); err != nil || taken {
			d.ID = app.NewID()
			if err != nil {
				return err
			}
			if d.Keys, err = m.pairs(&d, secrets); err != nil { // sealed for the id
				return err
			}
		}
		if err := tx.InsertDomain(&d); err != nil {
			return err
		}
		return tx.SetNamedSources(m.team.ID, d.ID, &sources)
	})
	if err != nil {
		return "", err
	}
	return d.ID, nil
}

// receiving reports whether mail for a domain is to be received, as it was. It is received only once a check finds the
// MX record of this server.
func (m *importer) receiving(ctx context.Context, what string, in *archive.Domain, d *app.Domain) (bool, error) {
	if !in.Receiving {
		return false, nil
	}
	err := m.s.DB.Read(ctx, func(r *db.Reader) error { return m.s.domains.MayReceive(r, d) })
	words, refused := refusalWords(err)
	switch {
	case refused:
		m.unmovable(what+": receiving mail", words)
	case err == nil:
		m.unmovable(what+": its MX", "mail arrives here once the MX record names this server: see `mailer domains records "+d.Name+"`")
	default:
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return !refused, nil
}

// isTrusted returns the initial status of a domain. An archive could claim any domain, so only the
// DNS verifies it, or the operator's trust in the archive.
func (m *importer) isTrusted(status app.DomainStatus) app.DomainStatus {
	switch {
	case status == app.DomainNotStarted, status == app.DomainFailed, status == app.DomainVerified && m.Trust:
		return status
	}
	return app.DomainPending
}

// addDomain registers a domain as a new one.
func (m *importer) addDomain(ctx context.Context, what string, in app.DomainInput) (id string, err error) {
	m.unmovable(what, "its DKIM key can't move: publish the records that `mailer domains records` and the dashboard list, then verify it")
	thing := Thing{Name: in.Name, New: true, Status: string(app.DomainNotStarted)}
	if m.Apply {
		d, err := m.s.domains.AddDomain(ctx, m.team.ID, in)
		if words, ok := refusalWords(err); ok {
			m.unmovable(what, words)
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		id, thing.Name, thing.Records = d.ID, d.Name, m.s.domains.DomainRecords(&d)
	}
	m.report.Domains = append(m.report.Domains, thing)
	return id, nil
}

// minRSA is the minimum length of a DKIM key (RFC 8301 3.2).
const minRSA = 1024

// pairs returns the DKIM keys of a domain, sealed for it.
func (m *importer) pairs(d *app.Domain, secrets []archive.Secret) (out []app.DKIMPair, err error) {
	signing := 0
	for i := range secrets {
		s := &secrets[i]
		parsed, err := x509.ParsePKCS8PrivateKey(s.Private)
		key, ok := parsed.(*rsa.PrivateKey)
		if err != nil || !ok || key.N.BitLen() < minRSA || key.Validate() != nil {
			return nil, fmt.Errorf("the DKIM key of selector %q is no RSA key in PKCS #8 of at least %d bits", s.Selector, minRSA)
		}
		public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil || !app.IsRegion(s.Selector) {
			return nil, fmt.Errorf("the selector %q or its key can't be used", s.Selector)
		}
		switch s.State {
		case app.DKIMSigning:
			signing++
		case app.DKIMNext, app.DKIMRetired:
		default:
			return nil, fmt.Errorf("the DKIM key of selector %q is %q: it must be signing, next or retired", s.Selector, s.State)
		}
		out = append(out, app.DKIMPair{Selector: s.Selector, State: s.State, Public: base64.StdEncoding.EncodeToString(public),
			Sealed: m.s.Sealer.Seal(domains.DKIMPurpose, d.ID, s.Private), CreatedAt: orDefault(s.CreatedAt, clock.Now().UTC()), RetiredAt: s.RetiredAt})
	}
	if len(out) > 0 && signing != 1 {
		return nil, errors.New("one of its DKIM keys must be the one that signs")
	}
	return out, nil
}

// webhooks creates missing webhooks, identified by endpoint.
func (m *importer) webhooks(ctx context.Context) error {
	secrets, err := m.secretsOf(archive.Webhooks)
	if err != nil {
		return err
	}
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]webhook.Webhook, error) {
		return eachItem(func(p app.Page) ([]webhook.Webhook, bool, error) { return r.ListWebhooks(m.team.ID, p) }, func(w *webhook.Webhook) string { return w.ID })
	})
	if err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	there := map[string]string{}
	for i := range all {
		there[all[i].ID], there[all[i].Endpoint] = all[i].ID, all[i].ID
	}
	done := 0
	var in archive.Webhook
	return m.r.Each(archive.Webhooks, &in, func(int) error {
		done++
		id := there[in.Endpoint]
		if m.r.Team.FromMailer() {
			id = there[in.ID]
		}
		if id != "" {
			m.report.Webhooks = append(m.report.Webhooks, Thing{Name: in.Endpoint, Status: in.Status})
		} else if id, err = m.webhook(ctx, &in, secrets[in.ID]); err != nil || id == "" {
			return err
		}
		m.webhookIDs[in.ID] = id
		if err := m.moved(archive.Webhooks, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Webhooks, done)
	})
}

// webhook creates a webhook; an empty id: it can't be created.
func (m *importer) webhook(ctx context.Context, in *archive.Webhook, secrets []archive.Secret) (id string, err error) {
	what := "webhook " + in.Endpoint
	input := webhook.Input{Endpoint: in.Endpoint, Status: webhook.Status(in.Status)}
	for _, name := range in.Events {
		input.Events = append(input.Events, webhook.EventName(name))
	}
	var kept []webhook.SigningSecret
	for i := range secrets {
		s, err := webhook.ParseSecret(secrets[i].Signing)
		if err != nil {
			m.unmovable(what, "its signing secret is none: "+err.Error())
			return "", nil
		}
		if !secrets[i].ExpiresAt.IsZero() {
			s.Until = secrets[i].ExpiresAt.UnixMilli()
		}
		kept = append(kept, s)
	}
	w, err := input.Validate(m.s.events.WebhookAllow)
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	if len(kept) > 0 {
		w.Secrets = kept
	} else {
		m.unmovable(what, "its signing secret can't move: give its receiver the new one")
	}
	for _, name := range w.Events {
		if name.NotSent() {
			m.unmovable(what, fmt.Sprintf("it asks for %s, which is not sent here yet", name))
		}
	}
	w.ID, w.TeamID = m.id(in.ID), m.team.ID
	_, err = m.add(ctx, &m.report.Webhooks, what, Thing{Name: in.Endpoint, Status: string(w.Status)}, func(tx *db.Tx) (err error) {
		if w.ID, err = freeID(tx.WebhookIDTaken, w.ID); err != nil {
			return err
		}
		w.CreatedAt = orDefault(in.CreatedAt, tx.Now)
		return m.s.events.AddWebhook(tx, &w)
	})
	return w.ID, err
}

// keys creates missing API keys if the archive has their hashes: programs keep using them.
func (m *importer) keys(ctx context.Context) error {
	secrets, err := m.secretsOf(archive.Keys)
	if err != nil {
		return err
	}
	done := 0
	var in archive.Key
	return m.r.Each(archive.Keys, &in, func(int) error {
		done++
		what := fmt.Sprintf("API key %q", in.Name)
		held := secrets[in.ID]
		if len(held) != 1 || len(held[0].Hash) == 0 {
			m.unmovable(what, "it can't move without its hash: make a new one with `mailer keys create`")
			return nil
		}
		if err := m.key(ctx, &in, &held[0], what); err != nil {
			return err
		}
		return m.progress(archive.Keys, done)
	})
}

func (m *importer) key(ctx context.Context, in *archive.Key, held *archive.Secret, what string) error {
	id, ok := app.ParseID(in.ID)
	if !ok || !m.r.Team.FromMailer() {
		m.unmovable(what, "only keys of another Mailer can move")
		return nil
	}
	k, words := m.checkedKey(in, held)
	if words != "" {
		m.unmovable(what, words)
		return nil
	}
	k.ID = id
	owner, err := db.Get(ctx, m.s.DB, func(r *db.Reader) (string, error) {
		for _, find := range []func() (app.Key, error){func() (app.Key, error) { return r.AnyKey(id) }, func() (app.Key, error) { return r.FindKey(k.Public) }} {
			found, err := find()
			if err == nil {
				return found.TeamID, nil
			}
			if !errors.Is(err, db.ErrNotFound) {
				return "", err
			}
		}
		return "", nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("look for keys: %w", err)
	case owner == m.team.ID:
		m.report.Keys = append(m.report.Keys, Thing{Name: in.Name})
		return nil
	case owner != "":
		m.unmovable(what, "another team of this Mailer has it, and a key is one team's: make a new one with `mailer keys create`")
		return nil
	}
	_, err = m.add(ctx, &m.report.Keys, what, Thing{Name: in.Name}, func(tx *db.Tx) error {
		if err := base.CapKeys.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		k.CreatedAt = orDefault(in.CreatedAt, tx.Now)
		return tx.InsertKey(k)
	})
	return err
}

// checkedKey validates a key.
func (m *importer) checkedKey(in *archive.Key, held *archive.Secret) (k app.Key, words string) {
	k = app.Key{TeamID: m.team.ID, Name: in.Name, Permission: in.Permission, Role: in.Role, Public: held.Public, Hash: held.Hash, ExpiresAt: in.ExpiresAt, LastUsedAt: in.LastUsedAt}
	if err := app.CheckKeyName(in.Name); err != nil {
		return k, err.Error()
	}
	const hashSize = 32 // bytes of SHA-256
	switch {
	case in.Permission != app.FullAccess && in.Permission != app.SendingAccess, !in.Role.Manages() && in.Role != app.RoleMember:
		return k, "its permission or role is none"
	case len(held.Hash) != hashSize || held.Public == "":
		return k, "its hash is none"
	}
	if in.DomainID != "" {
		if k.DomainID = m.domains[in.DomainID]; k.DomainID == "" && m.Apply {
			return k, "the domain that it is bound to was not taken"
		}
	}
	for _, text := range in.AllowedIPs {
		r, err := netip.ParsePrefix(text)
		if err != nil {
			return k, fmt.Sprintf("%q is no range of addresses", text)
		}
		k.AllowedIPs = append(k.AllowedIPs, r)
	}
	return k, ""
}
