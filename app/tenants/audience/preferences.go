package audience

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// The pages need no key: anybody with a link, or a program, can change choices any number of times.
// A choice that changes nothing writes nothing. Opt-outs always succeed, and each opt-out but the
// first needs an opt-in before it. So opt-ins are limited, by address and by client.
const (
	// maxOptInsPerAddress is how many times a minute one address can opt in.
	maxOptInsPerAddress = 5
	// maxOptInsPerClient is the limit of one client, which many people may share.
	maxOptInsPerClient = 120
	// ChoiceEventInterval is the least time between two events about the choices of one address. An
	// event contains the last state.
	ChoiceEventInterval = time.Minute
	// choicesPerWrite is how many addresses one Write announces.
	choicesPerWrite = 100
)

// SavePreferences stores a choice for each topic id of choices that the page shows, and ignores
// others. It does not resubscribe an address that unsubscribed from all mailings. client is the
// source of the request; empty: unknown. Errors: CodeNotFound; CodeRateLimitExceeded for too many
// opt-ins, in which case the opt-outs of the same call are stored.
func (s *Pages) SavePreferences(ctx context.Context, token string, choices map[string]app.Subscription, client string) (*PageView, error) {
	var wanted []app.TopicChoice
	var address app.AddressHash
	var teamID string
	view, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (*PageView, error) {
		p, err := s.openPage(r, app.PreferencesPage, token)
		if err != nil {
			return nil, err
		}
		teamID, address = p.link.TeamID, p.addresses[0].hash
		if wanted, err = p.pendingChanges(r, choices); err != nil {
			return nil, err
		}
		return p.view(r)
	})
	if err != nil || len(wanted) == 0 {
		return view, base.Lookup("page", err)
	}
	var refused error
	optsIn := func(c app.TopicChoice) bool { return c.Subscription == app.OptIn }
	if slices.ContainsFunc(wanted, optsIn) && s.exceedsOptInLimit(teamID, address, client) {
		refused = &app.Error{Code: app.CodeRateLimitExceeded, Message: "Too many choices in a short while; try again in a minute", RetryAfter: time.Minute}
		if wanted = slices.DeleteFunc(wanted, optsIn); len(wanted) == 0 {
			return nil, refused
		}
	}
	write := writeFunc(s.service.DB.Write)
	if slices.ContainsFunc(wanted, func(c app.TopicChoice) bool { return !optsIn(c) }) {
		write = s.service.DB.WriteCritical // an opt-out must succeed on a full disk, even together with opt-ins
	}
	view, err = s.changePage(ctx, write, app.PreferencesPage, token, func(tx *db.Tx, p *page) (*PageView, error) {
		if err := p.save(tx, wanted); err != nil {
			return nil, err
		}
		return p.view(&tx.Reader)
	})
	if err == nil && refused != nil {
		return nil, refused
	}
	return view, err
}

// exceedsOptInLimit counts an opt-in and reports whether it exceeds a limit.
func (s *Pages) exceedsOptInLimit(teamID string, address app.AddressHash, client string) bool {
	now := clock.Now()
	if s.optIns.Add(teamID+string(address[:]), now) > maxOptInsPerAddress {
		return true // it does not count against others behind the same client
	}
	return client != "" && s.optIns.Add(client, now) > maxOptInsPerClient
}

// pendingChanges returns the choices about topics of the page that change something.
func (p *page) pendingChanges(r *db.Reader, choices map[string]app.Subscription) ([]app.TopicChoice, error) {
	shown, err := p.topics(r)
	if err != nil {
		return nil, err
	}
	var wanted []app.TopicChoice
	for _, t := range shown {
		c := app.TopicChoice{ID: t.ID, Subscription: choices[t.ID]}
		if c.Subscription != app.OptIn && c.Subscription != app.OptOut {
			continue
		}
		if is, err := p.isChosen(r, c); err != nil {
			return nil, err
		} else if !is {
			wanted = append(wanted, c)
		}
	}
	return wanted, nil
}

// isChosen reports whether all addresses that a choice applies to have made it already.
func (p *page) isChosen(r *db.Reader, c app.TopicChoice) (bool, error) {
	for i := range p.addresses {
		if !p.choiceApplies(i, c) {
			continue
		}
		t, err := r.TopicFor(p.link.TeamID, c.ID, p.addresses[i].hash)
		if err != nil || !t.Explicit || t.Subscription != c.Subscription {
			return false, err
		}
	}
	return true, nil
}

// choiceApplies reports whether a choice applies to an address. A contact whose address has changed
// is not shown on the page, so opt-ins do not apply to it.
func (p *page) choiceApplies(i int, c app.TopicChoice) bool {
	return i == 0 || c.Subscription == app.OptOut
}

// save stores choices of a page.
func (p *page) save(tx *db.Tx, wanted []app.TopicChoice) error {
	shown, err := p.topics(&tx.Reader)
	if err != nil {
		return err
	}
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(c app.TopicChoice) bool { // hidden or deleted meanwhile
		return !slices.ContainsFunc(shown, func(t app.ContactTopic) bool { return t.ID == c.ID })
	})
	leftTopic := false // the topic of the link
	for i := range p.addresses {
		changed, err := p.choose(tx, i, wanted)
		if err != nil {
			return err
		}
		leftTopic = leftTopic || slices.Contains(changed, app.TopicChoice{ID: p.link.TopicID, Subscription: app.OptOut})
	}
	if leftTopic {
		return countUnsubscribed(tx, p)
	}
	return nil
}

// choose stores the choices of one address, announces the changes, and returns them.
func (p *page) choose(tx *db.Tx, i int, wanted []app.TopicChoice) (changed []app.TopicChoice, err error) {
	to := &p.addresses[i]
	contact, err := p.contact(&tx.Reader, to)
	if err != nil {
		return nil, err
	}
	g := p.s.service.signals(tx, p.link.TeamID, nil)
	if contact != nil {
		err = g.before(contact)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range wanted {
		if !p.choiceApplies(i, c) {
			continue
		}
		isNew, err := tx.SetChoice(c.ID, to.hash, c.Subscription)
		if err != nil {
			return nil, err
		}
		if isNew {
			changed = append(changed, c)
		}
	}
	if err := announceOrHold(tx, p, to, changed); err != nil || contact == nil {
		return changed, err
	}
	return changed, g.choicesChanged(contact, changed)
}

// alreadyLeft returns the page of an unsubscribe link whose opt-out is done already, so that a
// repeated one-click request of a mail provider needs no write; nil: not done. Errors:
// CodeNotFound.
func (s *Pages) alreadyLeft(ctx context.Context, token string) (view *PageView, err error) {
	view, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (*PageView, error) {
		p, err := s.openPage(r, app.UnsubscribePage, token)
		if err != nil {
			return nil, err
		}
		if done, err := p.isDone(r); err != nil || !done {
			return nil, err
		}
		return p.unsubscribedView(r)
	})
	return view, base.Lookup("page", err)
}

// isDone reports whether the opt-out of an unsubscribe link is done.
func (p *page) isDone(r *db.Reader) (bool, error) {
	for i := range p.addresses {
		if left, err := p.hasLeft(r, &p.addresses[i]); err != nil || !left {
			return false, err
		}
	}
	if p.link.Source == "" {
		return true, nil
	}
	_, rec, err := RecipientOf(r, p.link.TeamID, p.link.Source)
	if errors.Is(err, db.ErrNotFound) {
		return true, nil
	}
	return rec.Seen&app.SeenUnsubscribed != 0, err
}

// hasLeft reports whether an address opted out of the topic of a link, or of all mailings.
func (p *page) hasLeft(r *db.Reader, to *linkedAddress) (bool, error) {
	if p.link.TopicID != "" {
		t, err := r.TopicFor(p.link.TeamID, p.link.TopicID, to.hash)
		return t.Explicit && t.Subscription == app.OptOut, err
	}
	c, err := p.contact(r, to)
	if err != nil || c != nil && !c.Unsubscribed {
		return false, err
	}
	_, err = r.SuppressionByAddress(p.link.TeamID, to.hash)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// announceOrHold announces changed choices of a contact immediately, or holds them to be announced
// with later ones within ChoiceEventInterval.
func announceOrHold(tx *db.Tx, p *page, to *linkedAddress, changed []app.TopicChoice) error {
	if len(changed) == 0 {
		return nil
	}
	c, err := p.contact(&tx.Reader, to)
	if err != nil || c == nil {
		return err
	}
	pending := db.ChoiceNews{TeamID: c.TeamID, Address: to.hash}
	for _, choice := range changed {
		pending.Topics = append(pending.Topics, choice.ID)
	}
	if held, err := tx.HoldChoiceNews(&pending, ChoiceEventInterval); err != nil || held {
		return err
	}
	return p.s.service.announceChoices(tx, c.TeamID, c.Email, changed)
}

// AnnounceHeldChoices announces held choices in their current state. If no choice was held or
// announced lately, it does not read the database until the next commit.
func (s *Pages) AnnounceHeldChoices(ctx context.Context) error {
	version := s.service.DB.Version()
	if last := s.noneHeldAt.Load(); last != nil && *last == version {
		return nil
	}
	soon := clock.Now().Add(2 * ChoiceEventInterval) // after a small step of the clock too
	some, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]db.ChoiceNews, error) { return r.DueChoiceNews(soon, 1) })
	if err != nil {
		return fmt.Errorf("look for held choices: %w", err)
	}
	if len(some) == 0 {
		s.noneHeldAt.Store(&version)
		return nil
	}
	for more := true; more; {
		due, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]db.ChoiceNews, error) { return r.DueChoiceNews(clock.Now(), choicesPerWrite) })
		if err != nil || len(due) == 0 {
			return err
		}
		more = len(due) == choicesPerWrite
		if err := s.service.DB.Write(ctx, func(tx *db.Tx) error { return s.announceDueChoices(tx) }); err != nil {
			return fmt.Errorf("announce choices: %w", err)
		}
	}
	return nil
}

func (s *Pages) announceDueChoices(tx *db.Tx) error {
	due, err := tx.DueChoiceNews(tx.Now, choicesPerWrite)
	if err != nil {
		return err
	}
	for i := range due {
		if err := tx.EndChoiceNews(&due[i], ChoiceEventInterval); err != nil {
			return err
		}
		if err := s.announceHeld(tx, &due[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Pages) announceHeld(tx *db.Tx, n *db.ChoiceNews) error {
	c, err := tx.ContactByAddress(n.TeamID, n.Address)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	var choices []app.TopicChoice
	for _, id := range n.Topics {
		t, err := tx.TopicFor(n.TeamID, id, n.Address)
		if errors.Is(err, db.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		choices = append(choices, app.TopicChoice{ID: id, Subscription: t.Subscription})
	}
	return s.service.announceChoices(tx, n.TeamID, c.Email, choices)
}
