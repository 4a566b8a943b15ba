package audience

import (
	"fmt"
	"strings"

	"mailer/app"
	"mailer/db"
)

// What a set says of who gets no mail.

// readChoices reads what addresses chose about a topic.
func (s *set) readChoices(topicID string, hashes []app.AddressHash) error {
	all, err := s.tx.ChoicesAmong(topicID, hashes)
	if err != nil {
		return fmt.Errorf("look up choices: %w", err)
	}
	for i := range all {
		s.chosen[choosing{topicID, all[i].Address}] = all[i].Subscription
	}
	return nil
}

// choose keeps a choice that changes something; items of a set choose the same about a
// topic. One to opt in is left out where its address opted out: an import, of an old list
// maybe, re-subscribes nobody.
func (s *set) choose(choice app.TopicChoice, address app.AddressHash) {
	who := choosing{choice.ID, address}
	if was := s.chosen[who]; was == choice.Subscription || was == app.OptOut {
		return
	}
	s.chosen[who] = choice.Subscription
	s.choices = append(s.choices, db.Choice{TopicID: choice.ID, Address: address, Subscription: choice.Subscription, At: s.tx.Now})
}

// optOut unsubscribes the contact of an address. It returns false where there is none that
// is not unsubscribed yet.
func (s *set) optOut(address app.AddressHash) (bool, error) {
	old := s.there[address]
	if old == nil || old.Unsubscribed {
		return false, nil
	}
	return true, s.bringUp(&app.NewContact{Contact: app.Contact{Unsubscribed: true}}, old)
}

// suppress puts an address on the list, or changes for what reason it stands there to the
// stronger one.
func (s *set) suppress(email string, address app.AddressHash, origin app.SuppressionOrigin) contactStatus {
	if !s.listed[address] { // one that was erased is listed again
		s.listed[address] = true
		s.barred = append(s.barred, app.Suppression{ID: app.NewID(), TeamID: s.teamID, Email: strings.ToLower(email), Hash: address, Origin: origin, CreatedAt: s.tx.Now})
	}
	stands, there := s.blocked[address]
	switch {
	case !there:
		s.blocked[address] = origin
		return contactCreated
	case stands.YieldsTo(origin):
		s.blocked[address] = origin
		s.graver = append(s.graver, address)
		return contactUpdated
	}
	return contactSkipped
}

// flushSuppressions writes what suppress kept.
func (s *set) flushSuppressions() error {
	if _, err := s.tx.AddSuppressions(s.barred); err != nil {
		return fmt.Errorf("suppress: %w", err)
	}
	for _, address := range s.graver {
		stands, err := s.tx.SuppressionByAddress(s.teamID, address)
		if err != nil {
			return fmt.Errorf("look up suppression: %w", err)
		}
		if err := s.tx.ReplaceOrigin(s.teamID, stands.ID, s.blocked[address], stands.SourceID); err != nil {
			return fmt.Errorf("change the origin of a suppression: %w", err)
		}
	}
	s.barred, s.graver = nil, nil
	return nil
}

// leaveFormer has a contact that left all mailings leave them with its former addresses
// too, where no other contact has them now, items before this one among them.
func (s *set) leaveFormer(c *app.Contact) error {
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
	for _, f := range former { // of which items may come
		if s.there[f.Hash] == nil && s.blocked[f.Hash] == "" {
			s.blocked[f.Hash] = app.OriginUnsubscribe
		}
	}
	return s.s.optOutFormer(s.tx, c)
}
