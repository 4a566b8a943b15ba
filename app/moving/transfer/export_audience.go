package transfer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

func (x *export) contacts() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Contact
		var members, former []db.Owned
		return x.rows(func(r *db.Reader) (n int, err error) {
			if all, err = r.ContactsAfter(x.team.ID, after, batchRows); err != nil || len(all) == 0 {
				return 0, err
			}
			span := db.Span{After: after, Until: all[len(all)-1].ID}
			if members, err = r.MembersBetween(x.team.ID, span); err != nil {
				return 0, err
			}
			former, err = r.FormerBetween(x.team.ID, span)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			x.progress(1)
			out := contactOf(&all[i])
			for ; len(members) > 0 && members[0].ContactID == out.ID; members = members[1:] {
				if x.segments[members[0].Value] { // otherwise created since
					out.Segments = append(out.Segments, members[0].Value)
				}
			}
			for ; len(former) > 0 && former[0].ContactID == out.ID; former = former[1:] {
				out.Former = append(out.Former, former[0].Value)
			}
			slices.Sort(out.Former)
			if out.Unsubscribed && !out.UpdatedAt.Before(x.began) {
				x.optedOut[out.ID] = true
			}
			return x.put(archive.Contacts, out)
		})
	})
}

func contactOf(c *app.Contact) *archive.Contact {
	out := &archive.Contact{ID: c.ID, Email: c.Email, FirstName: c.FirstName, LastName: c.LastName, Unsubscribed: c.Unsubscribed, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		LastSentAt: c.LastSentAt, LastOpenedAt: c.LastOpenedAt, LastClickedAt: c.LastClickedAt, LastRepliedAt: c.LastRepliedAt}
	if len(c.Properties) > 0 {
		out.Properties = make(map[string]any, len(c.Properties))
	}
	for key, v := range c.Properties {
		out.Properties[key] = value(&v)
	}
	return out
}

// optOuts writes contacts that unsubscribed since the export began.
func (x *export) optOuts() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Contact
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.OptedOutSince(x.team.ID, after, x.began, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			if x.optedOut[all[i].ID] {
				return nil
			}
			return x.put(archive.Contacts, contactOf(&all[i]))
		})
	})
}

func (x *export) suppressions() error {
	erased := 0
	err := x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
		erased, err = r.ErasedSuppressions(x.team.ID)
		return err
	})
	if err != nil {
		return err
	}
	if erased > 0 {
		x.unmovable(fmt.Sprintf("%d suppressions of addresses that were erased", erased), "the addresses are not known any more, and their hashes hold for this team alone")
	}
	return x.walk(func(after string) (string, error) {
		var all []app.Suppression
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.SuppressionsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			s := &all[i]
			return x.put(archive.Suppressions, &archive.Suppression{ID: s.ID, Email: s.Email, Origin: s.Origin, SourceID: s.SourceID, CreatedAt: s.CreatedAt})
		})
	})
}

// choices writes topic choices. The database has only hashes of addresses, so all known addresses
// are hashed: of contacts, their former addresses, suppressions, and if hashes are left,
// recipients of mail. Each batch is sorted by address, since hashes are sorted differently in each
// database.
func (x *export) choices() error {
	if len(x.topics) == 0 {
		return nil
	}
	for _, known := range []struct {
		edge    func(r *db.Reader, teamID, after string, limit int) (last string, err error)
		choices func(r *db.Reader, teamID string, span db.Span) ([]db.AddressChoice, error)
	}{
		{(*db.Reader).ContactPageEnd, (*db.Reader).ContactChoices}, {(*db.Reader).ContactPageEnd, (*db.Reader).FormerChoices},
		{(*db.Reader).SuppressionPageEnd, (*db.Reader).SuppressedChoices},
	} {
		err := x.walk(func(after string) (last string, err error) {
			var found []db.AddressChoice
			err = x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
				if last, err = known.edge(r, x.team.ID, after, batchRows); err != nil || last == "" {
					return err
				}
				found, err = known.choices(r, x.team.ID, db.Span{After: after, Until: last})
				return err
			})
			slices.SortStableFunc(found, func(a, b db.AddressChoice) int {
				return cmp.Or(strings.Compare(a.Email, b.Email), strings.Compare(a.TopicID, b.TopicID))
			})
			for i := 0; i < len(found) && err == nil; i++ {
				err = x.choice(&found[i])
			}
			return last, err
		})
		if err != nil {
			return err
		}
	}
	return x.choicesOfMailed()
}

func (x *export) choice(c *db.AddressChoice) error {
	if !x.topics[c.TopicID] { // created since
		return nil
	}
	return x.put(archive.Choices, &archive.Choice{Email: c.Email, TopicID: c.TopicID, Subscription: c.Subscription, ChosenAt: c.ChosenAt})
}
