package transfer

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// optOuts stores opt-outs of topics.
func (m *importer) optOuts(ctx context.Context) error { return m.choicesWhere(ctx, app.OptOut) }

// optIns stores opt-ins for which there is no choice here: nobody is subscribed again.
func (m *importer) optIns(ctx context.Context) error { return m.choicesWhere(ctx, app.OptIn) }

func (m *importer) choicesWhere(ctx context.Context, subscription app.Subscription) error {
	var c archive.Choice
	var set []db.Choice
	done := 0
	flush := func() error {
		if err := m.putChoices(ctx, set); err != nil {
			return fmt.Errorf("store choices: %w", err)
		}
		set = set[:0]
		return m.progress(archive.Choices, done)
	}
	err := m.r.Each(archive.Choices, &c, func(line int) error {
		done++
		at := positionOf(c.From, archive.Choices, line)
		switch {
		case c.Subscription != app.OptOut && c.Subscription != app.OptIn:
			if subscription == app.OptOut { // once
				m.refuse(at, "`subscription` must be opt_in or opt_out")
			}
			return nil
		case c.Subscription != subscription || m.topics[c.TopicID] == "":
			return nil
		}
		_, key, err := app.ParseBareAddress(c.Email)
		if err != nil {
			m.refuse(at, "`email` is not a valid email address")
			return nil
		}
		set = append(set, db.Choice{TopicID: m.topics[c.TopicID], Address: m.s.Sealer.AddressHash(m.team.ID, key), Subscription: subscription, At: c.ChosenAt})
		if len(set) < batchSize {
			return ctx.Err()
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// putChoices stores those choices of a batch that change something.
func (m *importer) putChoices(ctx context.Context, set []db.Choice) error {
	if len(set) == 0 {
		return nil
	}
	var fresh []db.Choice
	pick := func(r *db.Reader) (err error) {
		fresh, err = m.newChoices(r, set)
		return err
	}
	var err error
	if m.Apply {
		err = m.write(ctx, func(tx *db.Tx) error {
			if err := pick(&tx.Reader); err != nil {
				return err
			}
			for i := range fresh {
				fresh[i].At = orDefault(fresh[i].At, tx.Now)
			}
			return tx.SetChoices(fresh)
		})
	} else {
		err = m.s.DB.Read(ctx, pick)
	}
	m.report.TopicChoices += len(fresh)
	return err
}

// newChoices returns those choices of a batch that change something: an opt-out always does, an
// opt-in only without an existing choice.
func (m *importer) newChoices(r *db.Reader, set []db.Choice) (fresh []db.Choice, err error) {
	byTopic := map[string][]int{}
	for i := range set {
		byTopic[set[i].TopicID] = append(byTopic[set[i].TopicID], i)
	}
	for topic, list := range byTopic {
		stands := map[app.AddressHash]app.Subscription{}
		if !m.newTopic[topic] || m.Apply {
			hashes := make([]app.AddressHash, len(list))
			for n, i := range list {
				hashes[n] = set[i].Address
			}
			chosen, err := r.ChoicesAmong(topic, hashes)
			if err != nil {
				return nil, err
			}
			for i := range chosen {
				stands[chosen[i].Address] = chosen[i].Subscription
			}
		}
		for _, i := range list {
			c := set[i]
			was := stands[c.Address]
			if choice, ok := m.chosen[choiceMark(&c)]; ok {
				was = choice
			}
			if was == c.Subscription || was != "" && c.Subscription == app.OptIn {
				continue
			}
			if !m.Apply {
				m.chosen[choiceMark(&c)] = c.Subscription
			}
			stands[c.Address] = c.Subscription
			fresh = append(fresh, c)
		}
	}
	return fresh, nil
}

// choiceMark identifies an address and a topic in a dry run.
func choiceMark(c *db.Choice) uint64 {
	topic := fnv.New64a()
	_, _ = topic.Write([]byte(c.TopicID)) // never fails
	return binary.LittleEndian.Uint64(c.Address[:]) ^ topic.Sum64()
}

// suppressions adds addresses to the suppression list. An existing one gets the origin of the
// source if that is stronger. A contact who unsubscribed at the source becomes unsubscribed.
func (m *importer) suppressions(ctx context.Context) error {
	var in archive.Suppression
	var set []app.Suppression
	done := 0
	flush := func() error {
		if err := m.putSuppressions(ctx, set); err != nil {
			return fmt.Errorf("store suppressions: %w", err)
		}
		set = set[:0]
		return m.progress(archive.Suppressions, done)
	}
	err := m.r.Each(archive.Suppressions, &in, func(line int) error {
		done++
		input := app.SuppressionInput{Email: in.Email, Origin: in.Origin}
		s, err := input.Validate()
		if err != nil {
			words, _ := refusalWords(err)
			m.refuse(positionOf(in.From, archive.Suppressions, line), words)
			return nil
		}
		s.ID, s.TeamID, s.SourceID, s.CreatedAt = m.id(in.ID), m.team.ID, in.SourceID, in.CreatedAt
		s.Hash = m.s.Sealer.AddressHash(m.team.ID, s.Key)
		if set = append(set, s); len(set) < batchSize {
			return ctx.Err()
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

func (m *importer) putSuppressions(ctx context.Context, set []app.Suppression) (err error) {
	if len(set) == 0 {
		return nil
	}
	var news suppressionChanges
	pick := func(r *db.Reader) (err error) {
		news, err = m.findSuppressionChanges(r, set)
		return err
	}
	if m.Apply {
		err = m.write(ctx, func(tx *db.Tx) error {
			if err := pick(&tx.Reader); err != nil {
				return err
			}
			return m.insertSuppressions(tx, set, &news)
		})
	} else {
		err = m.s.DB.Read(ctx, pick)
	}
	if err != nil {
		return err
	}
	for hash, origin := range news.origins {
		mark := binary.LittleEndian.Uint64(hash[:])
		was, counted := m.suppressed[mark]
		if counted && !was.WeakerThan(origin) {
			continue
		}
		if counted {
			m.report.Suppressions.add(was, -1)
		}
		m.suppressed[mark] = origin
		m.report.Suppressions.add(origin, 1)
	}
	return nil
}

// suppressionChanges holds the strongest origins of a batch by address, and the existing
// suppressions.
type suppressionChanges struct {
	origins  map[app.AddressHash]app.SuppressionOrigin // new, or stronger than the existing one
	existing map[app.AddressHash]app.SuppressionOrigin
}

func (m *importer) findSuppressionChanges(r *db.Reader, set []app.Suppression) (n suppressionChanges, err error) {
	hashes := make([]app.AddressHash, len(set))
	n.origins, n.existing = map[app.AddressHash]app.SuppressionOrigin{}, map[app.AddressHash]app.SuppressionOrigin{}
	for i := range set {
		hashes[i] = set[i].Hash
		if n.origins[set[i].Hash].WeakerThan(set[i].Origin) {
			n.origins[set[i].Hash] = set[i].Origin
		}
	}
	stands, err := r.SuppressionsAmong(m.team.ID, hashes)
	for i := range stands {
		n.existing[stands[i].Hash] = stands[i].Origin
		if !stands[i].Origin.WeakerThan(n.origins[stands[i].Hash]) {
			delete(n.origins, stands[i].Hash)
		}
	}
	return n, err
}

// insertSuppressions stores a batch, each address once with its strongest origin. A contact who
// unsubscribed at the source becomes unsubscribed, even if the address has a stronger origin.
func (m *importer) insertSuppressions(tx *db.Tx, set []app.Suppression, news *suppressionChanges) error {
	ids := make([]string, len(set))
	for i := range set {
		ids[i] = set[i].ID
	}
	taken, err := tx.SuppressionIDsTaken(ids)
	if err != nil {
		return fmt.Errorf("look up ids: %w", err)
	}
	isTaken := make(map[string]bool, len(taken))
	for _, id := range taken {
		isTaken[id] = true
	}
	once := map[app.AddressHash]bool{}
	var rows []app.Suppression
	var unsubscribed []app.AddressHash
	for _, s := range set {
		if s.Origin == app.OriginUnsubscribe && news.existing[s.Hash] != app.OriginUnsubscribe {
			unsubscribed = append(unsubscribed, s.Hash)
		}
		if once[s.Hash] || news.origins[s.Hash] != "" && news.origins[s.Hash] != s.Origin {
			continue
		}
		once[s.Hash] = true
		if isTaken[s.ID] {
			s.ID = app.NewID()
		}
		isTaken[s.ID] = true
		s.Email = strings.ToLower(s.Email)
		s.CreatedAt = orDefault(s.CreatedAt, tx.Now)
		rows = append(rows, s)
	}
	if _, err := tx.AddSuppressions(rows); err != nil {
		return err
	}
	if err := m.raiseOrigin(tx, rows, news); err != nil {
		return err
	}
	_, err = tx.UnsubscribeAmong(m.team.ID, unsubscribed)
	return err
}

// raiseOrigin changes existing suppressions to stronger origins of a batch.
func (m *importer) raiseOrigin(tx *db.Tx, rows []app.Suppression, news *suppressionChanges) error {
	for i := range rows {
		s := &rows[i]
		if news.existing[s.Hash] == "" || news.origins[s.Hash] == "" {
			continue
		}
		stands, err := tx.SuppressionByAddress(m.team.ID, s.Hash)
		if err == nil {
			err = tx.ReplaceOrigin(m.team.ID, stands.ID, s.Origin, s.SourceID)
		}
		if err != nil {
			return fmt.Errorf("change the origin of a suppression: %w", err)
		}
	}
	return nil
}
