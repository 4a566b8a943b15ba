package audience

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// WatchedSegment is a segment with a filter for which an automation listens: as the trigger of the automation,
// or as a goal of its runs.
type WatchedSegment struct {
	AutomationID string
	Segment      app.Segment
	Goal         bool
	// Remembering: contacts with an id after this one were not judged since the automation was enabled, or since
	// the filter changed. Nil: all were.
	Remembering *string
}

// signals tells the automations of a team what happens to its contacts inside one Write. It looks up once for each
// kind of event whether an automation listens.
type signals struct {
	s       *Service
	tx      *db.Tx
	teamID  string
	chain   []string // ids of the automations that led to what happens
	silent  bool     // nothing starts or continues: an import or a batch
	listens map[string]bool
	watched []WatchedSegment // if read is set
	read    bool
	// filtered tells of segments by id whether they have a filter.
	filtered map[string]bool
}

// signals returns the signals of a Write. chain names the automations that led to the Write; nil: none.
func (s *Service) signals(tx *db.Tx, teamID string, chain []string) *signals {
	return &signals{s: s, tx: tx, teamID: teamID, chain: chain, listens: map[string]bool{}, filtered: map[string]bool{}}
}

// wanted reports whether an automation of the team listens for an event.
func (g *signals) wanted(name string) (bool, error) {
	if g.s.OnSignal == nil {
		return false, nil
	}
	listens, known := g.listens[name]
	if !known {
		var err error
		if listens, err = g.tx.Listens(g.teamID, name); err != nil {
			return false, fmt.Errorf("look up listeners of %s: %w", name, err)
		}
		g.listens[name] = listens
	}
	return listens, nil
}

// signal stores an event of a contact if an automation listens for it.
func (g *signals) signal(contactID, name string, payload any) error {
	if g.silent {
		return nil
	}
	if wanted, err := g.wanted(name); err != nil || !wanted {
		return err
	}
	raw, err := json.Marshal(payload, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write the payload of %s: %w", name, err)
	}
	return g.s.OnSignal(g.tx, app.Signal{TeamID: g.teamID, ContactID: contactID, Name: name, Payload: raw, Chain: g.chain})
}

// created signals a new contact.
func (g *signals) created(c *app.Contact) error {
	return g.signal(c.ID, app.TriggerContactCreated, map[string]string{"contact_id": c.ID})
}

// chose signals the choices of a contact that became opt_in.
func (g *signals) chose(contactID string, changed []app.TopicChoice) error {
	for _, choice := range changed {
		if choice.Subscription != app.OptIn {
			continue
		}
		if err := g.signal(contactID, app.TriggerOptIn, map[string]string{"topic_id": choice.ID}); err != nil {
			return err
		}
	}
	return nil
}

// joined signals the segments that a contact was added to explicitly. judge signals those that have a filter.
func (g *signals) joined(contactID string, segments []string) error {
	if len(segments) == 0 {
		return nil
	}
	if wanted, err := g.wanted(app.TriggerSegmentJoined); err != nil || !wanted {
		return err
	}
	for _, id := range segments {
		filtered, known := g.filtered[id]
		if !known {
			segment, err := g.tx.Segment(g.teamID, id)
			if err != nil {
				return fmt.Errorf("read segment: %w", err)
			}
			filtered = segment.Filter != nil
			g.filtered[id] = filtered
		}
		if filtered {
			continue
		}
		if err := g.signal(contactID, app.TriggerSegmentJoined, map[string]string{"segment_id": id}); err != nil {
			return err
		}
	}
	return nil
}

// UpdateContactIn changes a contact as a step of a run, inside a Write that read it. chain names the automations that
// led to the step, with that of the run. The contact is not resubscribed: Unsubscribed false is ignored. Errors:
// CodeValidation.
func (s *Service) UpdateContactIn(tx *db.Tx, c *app.Contact, p *app.ContactPatch, chain []string) error {
	if err := p.Validate(); err != nil {
		return err
	}
	patch := *p
	if patch.OptsIn() {
		patch.Unsubscribed = nil
	}
	return s.patchContact(s.signals(tx, c.TeamID, chain), *c, &patch, true)
}

// AddToSegmentIn adds a contact to a segment as a step of a run, inside a Write that read it. Errors: db.ErrNotFound
// for the segment.
func (s *Service) AddToSegmentIn(tx *db.Tx, c *app.Contact, segmentID string, chain []string) error {
	if _, err := tx.Segment(c.TeamID, segmentID); err != nil {
		return err
	}
	_, err := s.addToSegment(s.signals(tx, c.TeamID, chain), c, segmentID)
	return err
}

// RemoveFromSegmentIn removes a contact that was added to a segment, as a step of a run, inside a Write that read it.
// A contact that matches the filter stays in the segment. Errors: db.ErrNotFound for the segment.
func (s *Service) RemoveFromSegmentIn(tx *db.Tx, c *app.Contact, segmentID string) error {
	if _, err := tx.Segment(c.TeamID, segmentID); err != nil {
		return err
	}
	_, err := s.removeFromSegment(s.signals(tx, c.TeamID, nil), c, segmentID)
	return err
}

// SetTopicIn stores a choice of a contact as a step of a run, inside a Write that read it. An opt-in over an explicit
// opt-out is ignored and reported. Errors: db.ErrNotFound for the topic.
func (s *Service) SetTopicIn(tx *db.Tx, c *app.Contact, topicID string, choice app.Subscription, chain []string) (ignored bool, err error) {
	topic, err := tx.TopicFor(c.TeamID, topicID, c.Hash)
	if err != nil {
		return false, err
	}
	if choice == app.OptIn && topic.Explicit && topic.Subscription == app.OptOut {
		return true, nil
	}
	_, err = s.choose(s.signals(tx, c.TeamID, chain), c, []app.TopicChoice{{ID: topicID, Subscription: choice}})
	return false, err
}

// DeleteContactIn deletes a contact as a step of a run, inside a Write that read it. The address of an unsubscribed
// contact stays on the suppression list.
func (s *Service) DeleteContactIn(tx *db.Tx, c *app.Contact) error { return s.deleteContact(tx, c) }

// choicesChanged signals changed choices of a contact, and judges the contact.
func (g *signals) choicesChanged(c *app.Contact, changed []app.TopicChoice) error {
	if len(changed) == 0 {
		return nil
	}
	if err := g.chose(c.ID, changed); err != nil {
		return err
	}
	return g.judge(c)
}

// watch returns the segments with a filter for which automations of the team listen.
func (g *signals) watch() ([]WatchedSegment, error) {
	if g.read || g.s.WatchedSegments == nil {
		return g.watched, nil
	}
	wanted, err := g.wanted(app.TriggerSegmentJoined)
	if err != nil {
		return nil, err
	}
	if wanted {
		if g.watched, err = g.s.WatchedSegments(&g.tx.Reader, g.teamID); err != nil {
			return nil, fmt.Errorf("read the segments of automations: %w", err)
		}
	}
	g.read = true
	return g.watched, nil
}

// before remembers which watched segments a stored contact is in before it changes, if it was not judged yet.
func (g *signals) before(c *app.Contact) error {
	all, err := g.watch()
	for i := 0; err == nil && i < len(all); i++ {
		w := &all[i]
		if w.Goal || w.Remembering == nil || c.ID <= *w.Remembering {
			continue
		}
		var in bool
		if in, err = g.tx.InSegment(&w.Segment, c); err == nil {
			_, err = g.tx.SetAutomationMember(w.AutomationID, c.ID, in)
		}
	}
	return err
}

// judge finds out which watched segments a contact is in after it was added or changed, and signals those that it
// joined since it was last judged, and those that are goals of its runs.
func (g *signals) judge(c *app.Contact) error {
	all, err := g.watch()
	for i := 0; err == nil && i < len(all); i++ {
		err = g.judgeFor(&all[i], c)
	}
	return err
}

// judgeFor judges a contact for one watched segment.
func (g *signals) judgeFor(w *WatchedSegment, c *app.Contact) error {
	in, err := g.tx.InSegment(&w.Segment, c)
	if err != nil {
		return fmt.Errorf("evaluate the filter of a segment: %w", err)
	}
	if w.Goal {
		if in {
			in, err = g.tx.HasOpenRun(g.teamID, c.ID, w.AutomationID)
		}
	} else if changed, failed := g.tx.SetAutomationMember(w.AutomationID, c.ID, in); failed != nil || !changed {
		return failed
	}
	if err != nil || !in {
		return err
	}
	return g.signal(c.ID, app.TriggerSegmentJoined, map[string]string{"segment_id": w.Segment.ID, "automation_id": w.AutomationID})
}

// Judge judges contacts of a team inside a Write, in which nothing happened to them: a filter may depend on time.
func (s *Service) Judge(tx *db.Tx, w *WatchedSegment, contacts []app.Contact) error {
	g := s.signals(tx, w.Segment.TeamID, nil)
	for i := range contacts {
		if err := g.judgeFor(w, &contacts[i]); err != nil {
			return err
		}
	}
	return nil
}

// MembersAdded tells automations that contacts of a team were added to a segment, inside the Write that added them.
func (s *Service) MembersAdded(tx *db.Tx, segment *app.Segment, contactIDs []string) error {
	g := s.signals(tx, segment.TeamID, nil)
	if wanted, err := g.wanted(app.TriggerSegmentJoined); err != nil || !wanted {
		return err
	}
	for _, id := range contactIDs {
		if err := g.joined(id, []string{segment.ID}); err != nil || segment.Filter == nil {
			if err != nil {
				return err
			}
			continue
		}
		c, err := tx.Contact(segment.TeamID, id)
		if err == nil {
			err = g.judge(&c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
