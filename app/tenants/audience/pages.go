package audience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// PageView is the content of a hosted page.
type PageView struct {
	Team         string
	Brand        brand.Brand        // of the team
	Topic        *app.ContactTopic  // topic of the link; nil: all mailings
	Unsubscribed bool               // from all mailings
	Topics       []app.ContactTopic // topics to choose from, by name: public ones, and the private topic of the link
	// Preferences is the token of the preferences page, and UnsubscribeAll that of the page that
	// unsubscribes from all mailings. Both are empty for a link that applies to several addresses.
	Preferences, UnsubscribeAll string
	// AfterUnsubscribe is the team's link on the page after unsubscribing; empty: none, or its host
	// is not at a verified domain of the team any more.
	AfterUnsubscribe string
}

// UnsubscribePage returns the page of an unsubscribe link and changes nothing. Errors: CodeNotFound
// for any invalid token.
func (s *Pages) UnsubscribePage(ctx context.Context, token string) (*PageView, error) {
	return s.readPage(ctx, app.UnsubscribePage, token)
}

// PreferencesPage returns the page of a preferences link and changes nothing. Errors: CodeNotFound.
func (s *Pages) PreferencesPage(ctx context.Context, token string) (*PageView, error) {
	return s.readPage(ctx, app.PreferencesPage, token)
}

func (s *Pages) readPage(ctx context.Context, name, token string) (view *PageView, err error) {
	view, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (*PageView, error) {
		p, err := s.openPage(r, name, token)
		if err != nil {
			return nil, err
		}
		return p.view(r)
	})
	if err != nil {
		return nil, base.Lookup("page", err)
	}
	return view, nil
}

// OpensPage reports whether this server made a token for a page. It does not read the database, so
// the object of the token may be deleted.
func (s *Pages) OpensPage(name, token string) bool {
	_, ok := s.service.Sealer.ReadPageToken(name, token)
	return ok
}

// Unsubscribe opts out of the link's topic, or of all mailings, and returns the resulting page.
// After it returns, no such mail leaves to the address. A second call changes nothing. Errors:
// CodeNotFound.
func (s *Pages) Unsubscribe(ctx context.Context, token string) (*PageView, error) {
	if view, err := s.alreadyLeft(ctx, token); view != nil || err != nil {
		return view, err
	}
	return s.changePage(ctx, s.service.DB.WriteCritical, app.UnsubscribePage, token, func(tx *db.Tx, p *page) (*PageView, error) {
		apply := s.unsubscribe
		if p.link.TopicID != "" {
			apply = optOut
		}
		for i := range p.addresses {
			if err := apply(tx, p, &p.addresses[i]); err != nil {
				return nil, err
			}
		}
		if err := countUnsubscribed(tx, p); err != nil {
			return nil, err
		}
		return p.unsubscribedView(&tx.Reader)
	})
}

// unsubscribedView returns the page of an unsubscribe link after the opt-out.
func (p *page) unsubscribedView(r *db.Reader) (*PageView, error) {
	view, err := p.view(r)
	if err == nil && p.link.TopicID == "" {
		// Also for an address without a contact that is suppressed for another reason: that
		// suppression stays, and blocks mail too.
		view.Unsubscribed = true
	}
	return view, err
}

// writeFunc is the Write method to use: an opt-out must succeed on a full disk.
type writeFunc func(ctx context.Context, fn func(*db.Tx) error) error

// changePage runs fn in a Write for the page of a token.
func (s *Pages) changePage(ctx context.Context, write writeFunc, name, token string, fn func(*db.Tx, *page) (*PageView, error)) (view *PageView, err error) {
	err = write(ctx, func(tx *db.Tx) error {
		p, err := s.openPage(&tx.Reader, name, token)
		if err != nil {
			return err
		}
		view, err = fn(tx, p)
		return err
	})
	if err != nil {
		return nil, base.Lookup("page", err)
	}
	return view, nil
}

// page is an opened link.
type page struct {
	s         *Pages
	link      app.PageLink
	brand     brand.Brand // of the team
	addresses []linkedAddress
}

// linkedAddress is an address that a link applies to. email is empty if only the hash is known.
type linkedAddress struct {
	hash  app.AddressHash
	email string
}

// openPage opens a token. Error: db.ErrNotFound for any invalid token, so that callers without a
// link learn nothing.
func (s *Pages) openPage(r *db.Reader, name, token string) (*page, error) {
	link, ok := s.service.Sealer.ReadPageToken(name, token)
	if !ok {
		return nil, db.ErrNotFound
	}
	p := &page{s: s, link: link}
	var err error
	if p.brand, err = r.Brand(link.TeamID); err != nil {
		return nil, err
	}
	if link.TopicID != "" {
		if err := r.TopicExists(link.TeamID, link.TopicID); err != nil {
			return nil, err
		}
	}
	if p.addresses, err = s.linkedAddresses(r, link); err != nil {
		return nil, err
	}
	if p.addresses, err = addMoved(r, link.TeamID, p.addresses); err != nil {
		return nil, err
	}
	if len(p.addresses) == 0 || name == app.PreferencesPage && p.shared() {
		return nil, db.ErrNotFound
	}
	return p, nil
}

// shared reports whether the link applies to every recipient of an email.
func (p *page) shared() bool { return p.link.Address == app.AddressHash{} }

// linkedAddresses returns the addresses that a link applies to: its own, with the text of the
// address if its email is still stored, or those of all recipients of the email.
func (s *Pages) linkedAddresses(r *db.Reader, link app.PageLink) ([]linkedAddress, error) {
	var out []linkedAddress
	if link.Source != "" {
		envelope, err := envelopeOf(r, link)
		if err != nil {
			return nil, fmt.Errorf("read envelope: %w", err)
		}
		for _, mailbox := range envelope {
			email, key, err := app.ParseBareAddress(mailbox)
			if err != nil {
				continue // erased
			}
			out = append(out, linkedAddress{s.service.Sealer.AddressHash(link.TeamID, key), strings.ToLower(email)})
		}
	}
	if link.Address == (app.AddressHash{}) {
		return addFormer(r, link, out)
	}
	for _, a := range out {
		if a.hash == link.Address {
			return []linkedAddress{a}, nil
		}
	}
	return []linkedAddress{{hash: link.Address}}, nil
}

// addFormer returns the known recipients of an email. For an email deleted by age it returns the
// stored hashes of its recipients.
func addFormer(r *db.Reader, link app.PageLink, known []linkedAddress) ([]linkedAddress, error) {
	if len(known) > 0 {
		return known, nil
	}
	hashes, err := r.FormerEnvelope(link.TeamID, link.Source)
	if err != nil {
		return nil, fmt.Errorf("read former envelope: %w", err)
	}
	for _, hash := range hashes {
		known = append(known, linkedAddress{hash: hash})
	}
	return known, nil
}

// addMoved adds the contacts whose address has changed since: a link in their old mail applies to
// them too.
func addMoved(r *db.Reader, teamID string, known []linkedAddress) ([]linkedAddress, error) {
	for _, a := range known {
		contacts, err := r.ContactsMovedFrom(teamID, a.hash)
		if err != nil {
			return nil, fmt.Errorf("look up contacts with a changed address: %w", err)
		}
		for _, c := range contacts {
			known = append(known, linkedAddress{c.Hash, strings.ToLower(c.Email)})
		}
	}
	return known, nil
}

// envelopeOf returns the recipients of the email that contains a link; none if it was deleted. An
// email of a broadcast has one recipient.
func envelopeOf(r *db.Reader, link app.PageLink) ([]string, error) {
	envelope, err := r.Envelope(link.TeamID, link.Source)
	if err != nil || len(envelope) > 0 {
		return envelope, err
	}
	_, rec, err := RecipientOf(r, link.TeamID, link.Source)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	return []string{rec.Email}, err
}

// countUnsubscribed counts an opt-out through the link in the mail of a broadcast, once for each
// recipient.
func countUnsubscribed(tx *db.Tx, p *page) error {
	if p.link.Source == "" {
		return nil
	}
	b, rec, err := RecipientOf(&tx.Reader, p.link.TeamID, p.link.Source)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	first, err := tx.MarkRecipient(b.ID, rec.ID, app.SeenUnsubscribed)
	if err != nil || !first {
		return err
	}
	text := "The recipient unsubscribed from all mailings through this email"
	if p.link.TopicID != "" {
		text = "The recipient opted out of the topic through this email"
	}
	return tx.InsertEvent(app.Event{ID: app.NewID(), TeamID: b.TeamID, EmailID: rec.ID, BroadcastID: b.ID, Domain: b.From.Domain, Relay: b.Relay, Type: app.EventUnsubscribed,
		CreatedAt: tx.Now, Detail: app.EventDetail{Message: text}})
}

// contact returns the contact of an address; nil: none.
func (p *page) contact(r *db.Reader, to *linkedAddress) (*app.Contact, error) {
	c, err := r.ContactByAddress(p.link.TeamID, to.hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &c, nil
}

// optOut opts an address out of the link's topic.
func optOut(tx *db.Tx, p *page, to *linkedAddress) error {
	c, err := p.contact(&tx.Reader, to)
	if err != nil {
		return err
	}
	g := p.s.service.signals(tx, p.link.TeamID, nil)
	if c != nil {
		if err := g.before(c); err != nil {
			return err
		}
	}
	changed, err := tx.SetChoice(p.link.TopicID, to.hash, app.OptOut)
	if err != nil || !changed {
		return err
	}
	left := []app.TopicChoice{{ID: p.link.TopicID, Subscription: app.OptOut}}
	if err := announceOrHold(tx, p, to, left); err != nil || c == nil {
		return err
	}
	return g.choicesChanged(c, left)
}

// unsubscribe opts an address out of all mailings: in its contact, and on the suppression list,
// which outlives the contact. An existing suppression keeps its origin.
func (s *Pages) unsubscribe(tx *db.Tx, p *page, to *linkedAddress) error {
	suppression := app.Suppression{
		ID: app.NewID(), TeamID: p.link.TeamID, Email: to.email, Hash: to.hash,
		Origin: app.OriginUnsubscribe, SourceID: p.link.Source, CreatedAt: tx.Now,
	}
	c, err := p.contact(&tx.Reader, to)
	if err != nil {
		return err
	}
	if c != nil {
		suppression.Email, suppression.SourceID = strings.ToLower(c.Email), cmp.Or(suppression.SourceID, c.ID)
		if err := s.unsubscribeContact(tx, c); err != nil {
			return err
		}
	}
	added, err := tx.InsertOptOut(&suppression)
	if err != nil || !added || suppression.Email == "" { // no event for a suppression without a visible address
		return err
	}
	return s.service.announceSuppression(tx, webhook.SuppressionAdded, &suppression)
}

func (s *Pages) unsubscribeContact(tx *db.Tx, c *app.Contact) error {
	if c.Unsubscribed {
		return nil
	}
	g := s.service.signals(tx, c.TeamID, nil)
	if err := g.before(c); err != nil {
		return err
	}
	c.Unsubscribed, c.UpdatedAt = true, tx.Now
	if err := tx.UpdateContact(c); err != nil {
		return err
	}
	if err := s.service.suppressFormerAddresses(tx, c); err != nil {
		return err
	}
	if err := s.service.announceChange(tx, c); err != nil {
		return err
	}
	return g.judge(c)
}

// view reads the page. For several addresses it shows the one that still gets most mail, so that a
// button is shown until all of them have opted out.
func (p *page) view(r *db.Reader) (*PageView, error) {
	v := &PageView{Team: p.brand.Team, Brand: p.brand, Unsubscribed: true}
	if own := p.brand.HostedPage(); own.URL != "" {
		ok, err := r.VerifiedAbove(p.link.TeamID, own.Host())
		if err != nil {
			return nil, err
		}
		if ok {
			v.AfterUnsubscribe = own.URL
		}
	}
	for i := range p.addresses {
		if err := p.add(r, v, &p.addresses[i]); err != nil {
			return nil, err
		}
	}
	if p.shared() {
		return v, nil
	}
	v.Preferences = p.s.service.Sealer.PageToken(app.PreferencesPage, p.link)
	all := p.link
	all.TopicID, all.Address = "", p.addresses[0].hash
	v.UnsubscribeAll = p.s.service.Sealer.PageToken(app.UnsubscribePage, all)
	var err error
	v.Topics, err = p.topics(r)
	return v, err
}

// add merges the state of one address into the view.
func (p *page) add(r *db.Reader, v *PageView, to *linkedAddress) error {
	if v.Unsubscribed {
		out, err := p.unsubscribed(r, to)
		if err != nil {
			return err
		}
		v.Unsubscribed = out
	}
	if p.link.TopicID == "" || v.Topic != nil && v.Topic.Subscription == app.OptIn {
		return nil
	}
	t, err := r.TopicFor(p.link.TeamID, p.link.TopicID, to.hash)
	v.Topic = &t
	return err
}

// unsubscribed reports whether an address opted out of all mailings.
func (p *page) unsubscribed(r *db.Reader, to *linkedAddress) (bool, error) {
	c, err := p.contact(r, to)
	if err != nil || c != nil && c.Unsubscribed {
		return c != nil, err
	}
	s, err := r.SuppressionByAddress(p.link.TeamID, to.hash)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return s.Origin == app.OriginUnsubscribe, err
}

// topics returns the topics that the page of one address shows, by name.
func (p *page) topics(r *db.Reader) ([]app.ContactTopic, error) {
	list, err := r.ShownTopics(p.link.TeamID, p.link.TopicID, p.addresses[0].hash)
	slices.SortStableFunc(list, func(a, b app.ContactTopic) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return list, err
}
