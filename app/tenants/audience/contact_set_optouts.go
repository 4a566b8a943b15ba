package audience

import (
	"fmt"
	"strings"

	"mailer/app"
	"mailer/db"
)

// readChoices reads the choices of addresses about a topic.
func (s *contactSet) readChoices(topicID string, hashes []app.AddressHash) error {
	all, err := s.tx.ChoicesAmong(topicID, hashes)
	if err != nil {
		return fmt.Errorf("look up choices: %w", err)
	}
	for i := range all {
		s.subscriptions[choiceKey{topicID, all[i].Address}] = all[i].Subscription
	}
	return nil
}

// choose buffers a choice that changes something. All items of a set make the same choice about a
// topic. It ignores an opt-in of an address that opted out: an import, possibly of an old list,
// resubscribes nobody.
func (s *contactSet) choose(choice app.TopicChoice, address app.AddressHash) {
	key := choiceKey{choice.ID, address}
	if current := s.subscriptions[key]; current == choice.Subscription || current == app.OptOut {
		return
	}
	s.subscriptions[key] = choice.Subscription
	s.choices = append(s.choices, db.Choice{TopicID: choice.ID, Address: address, Subscription: choice.Subscription, At: s.tx.Now})
}

// optOut unsubscribes the contact of an address. It returns false if there is no contact, or if it
// is unsubscribed already.
func (s *contactSet) optOut(address app.AddressHash) (bool, error) {
	old := s.existing[address]
	if old == nil || old.Unsubscribed {
		return false, nil
	}
	return true, s.merge(&app.NewContact{Contact: app.Contact{Unsubscribed: true}}, old)
}

// suppress adds an address to the suppression list, or changes the origin of its suppression to a
// stronger one.
func (s *contactSet) suppress(email string, address app.AddressHash, origin app.SuppressionOrigin) contactStatus {
	if !s.newlySuppressed[address] { // an erased suppression becomes visible again
		s.newlySuppressed[address] = true
		s.newSuppressions = append(s.newSuppressions, app.Suppression{ID: app.NewID(), TeamID: s.teamID, Email: strings.ToLower(email), Hash: address, Origin: origin, CreatedAt: s.tx.Now})
	}
	current, exists := s.suppressed[address]
	switch {
	case !exists:
		s.suppressed[address] = origin
		return contactCreated
	case current.WeakerThan(origin):
		s.suppressed[address] = origin
		s.strongerOrigins = append(s.strongerOrigins, address)
		return contactUpdated
	}
	return contactSkipped
}

// flushSuppressions writes the suppressions that suppress buffered.
func (s *contactSet) flushSuppressions() error {
	if _, err := s.tx.AddSuppressions(s.newSuppressions); err != nil {
		return fmt.Errorf("suppress: %w", err)
	}
	for _, address := range s.strongerOrigins {
		current, err := s.tx.SuppressionByAddress(s.teamID, address)
		if err != nil {
			return fmt.Errorf("look up suppression: %w", err)
		}
		if err := s.tx.ReplaceOrigin(s.teamID, current.ID, s.suppressed[address], current.SourceID); err != nil {
			return fmt.Errorf("change the origin of a suppression: %w", err)
		}
	}
	s.newSuppressions, s.strongerOrigins = nil, nil
	return nil
}

// suppressFormer suppresses the former addresses of a contact that unsubscribed, except those that
// another contact has now. Contacts of earlier items are written first.
func (s *contactSet) suppressFormer(c *app.Contact) error {
	former, err := s.tx.FormerAddresses(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read former addresses: %w", err)
	}
	if len(former) == 0 {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	for _, f := range former { // later items may have these addresses
		if s.existing[f.Hash] == nil && s.suppressed[f.Hash] == "" {
			s.suppressed[f.Hash] = app.OriginUnsubscribe
		}
	}
	return s.s.suppressFormerAddresses(s.tx, c)
}
