package transfer

import (
	"fmt"
	"maps"
	"slices"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// maxUnknown is how many choices of unknown addresses are resolved at a time: each needs about 100
// bytes.
const maxUnknown = 100_000

// unknownTopics holds choices of unknown addresses by hash.
type unknownTopics struct {
	topics map[app.AddressHash][]string
	n      int
}

// choicesOfMailed writes the choices of recipients who are not contacts: they can opt out too.
// Unresolved ones are counted.
func (x *export) choicesOfMailed() error {
	left := 0
	u := unknownTopics{topics: map[app.AddressHash][]string{}}
	settle := func() error {
		if u.n == 0 {
			return nil
		}
		if err := x.findInMail(&u); err != nil {
			return err
		}
		left += u.n
		u = unknownTopics{topics: map[app.AddressHash][]string{}}
		return nil
	}
	for _, topic := range slices.Sorted(maps.Keys(x.topics)) {
		for after, more := []byte{}, true; more; {
			var all []app.AddressHash
			err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
				all, err = r.UnknownChoices(x.team.ID, topic, after, batchRows)
				return err
			})
			if err != nil {
				return err
			}
			for _, h := range all {
				u.topics[h], u.n = append(u.topics[h], topic), u.n+1
			}
			if more = len(all) == batchRows; more {
				after = slices.Clone(all[len(all)-1][:])
			}
			if u.n < maxUnknown {
				continue
			}
			if err := settle(); err != nil {
				return err
			}
		}
	}
	if err := settle(); err != nil {
		return err
	}
	if left > 0 {
		x.unmovable(fmt.Sprintf("%d choices about topics", left), "nobody has their addresses any more, neither a contact nor a suppression nor an email, and their hashes hold for this team alone")
	}
	return nil
}

// findInMail finds addresses among the recipients of emails and broadcasts.
func (x *export) findInMail(u *unknownTopics) error {
	err := x.walk(func(after string) (last string, err error) {
		var found []db.MailedAddress
		err = x.DB.Read(x.ctx, func(r *db.Reader) error {
			ids, err := r.EmailIDsAfter(x.team.ID, after, batchRows)
			if err != nil || len(ids) == 0 {
				return err
			}
			last = ids[len(ids)-1]
			found, err = r.MailedBetween(x.team.ID, db.Span{After: after, Until: last})
			return err
		})
		if err != nil {
			return "", err
		}
		return last, x.resolve(u, found)
	})
	if err != nil {
		return err
	}
	return x.walk(func(after string) (last string, err error) {
		var all []app.Broadcast
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.BroadcastsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			if all[i].EmailIDPrefix == "" {
				return nil
			}
			return x.findInBroadcasts(u, all[i].EmailIDPrefix)
		})
	})
}

func (x *export) findInBroadcasts(u *unknownTopics, mails string) error {
	return x.walk(func(after string) (last string, err error) {
		var found []db.MailedAddress
		last, err = x.rows(func(r *db.Reader) (n int, err error) {
			found, err = r.MailedByBroadcast(mails, after, batchRows)
			return len(found), err
		}, func(i int) string { return found[i].ID }, func(int) error { return nil })
		if err != nil {
			return "", err
		}
		return last, x.resolve(u, found)
	})
}

// resolve writes the choices of found addresses.
func (x *export) resolve(u *unknownTopics, found []db.MailedAddress) error {
	for _, f := range found {
		if len(u.topics) == 0 {
			return nil
		}
		hash := x.Sealer.AddressHash(x.team.ID, app.KeyOf(f.Email))
		topics := u.topics[hash]
		if topics == nil {
			continue
		}
		var chosen []db.AddressChoice
		err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
			chosen, err = r.ChoicesOf(x.team.ID, hash)
			return err
		})
		if err != nil {
			return err
		}
		for i := range chosen {
			if c := &chosen[i]; slices.Contains(topics, c.TopicID) {
				if err := x.put(archive.Choices, &archive.Choice{Email: f.Email, TopicID: c.TopicID, Subscription: c.Subscription, ChosenAt: c.ChosenAt}); err != nil {
					return err
				}
			}
		}
		delete(u.topics, hash)
		u.n -= len(topics)
	}
	return nil
}
