package signup

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Limits of confirmations to one address.
const (
	teamPause  = 10 * time.Minute // between two of a team
	teamPerDay = 3
	teamPer30d = 6
	allPerDay  = 6 // of all teams
	allPer30d  = 20
	limitsFor  = 30 * 24 * time.Hour
	day        = 24 * time.Hour
)

// Limits of waiting confirmations and pending opt-ins. More are not stored.
const (
	maxDueOfRange  = 20 // of a form and a range of addresses
	maxDueNoProof  = 5  // the same, for a submission without proof
	softDue        = 50_000
	maxDue         = 100_000 // of a form; above softDue only ranges without a waiting confirmation
	maxPendingSame = 20      // of a team and an address
)

// personPurpose is the purpose of the keyed hash of an address that is the same for all teams.
const personPurpose = "confirmations"

// personOf returns the keyed hash of an address for the limits over all teams.
func (s *Service) personOf(key app.AddressKey) []byte {
	return s.Sealer.Hash(personPurpose, []byte(key.String()))
}

// mayConfirm reports whether the limits of an address allow another confirmation of a team. sent are those
// of all teams in the last 30 days.
func mayConfirm(sent []db.Confirmation, teamID string, now time.Time) bool {
	var team, teamDay, all, allDay int
	for _, c := range sent {
		age := now.Sub(c.SentAt)
		if age > limitsFor {
			continue
		}
		all++
		if age < day {
			allDay++
		}
		if c.TeamID != teamID || c.Settled {
			continue
		}
		team++
		if age < day {
			teamDay++
		}
		if age < teamPause {
			return false
		}
	}
	return team < teamPer30d && teamDay < teamPerDay && all < allPer30d && allDay < allPerDay
}

// blocked reports whether a team sends an address no confirmations: it refused, or is suppressed for
// another reason than an unsubscribe.
func blocked(r *db.Reader, teamID string, hash app.AddressHash, now time.Time) (bool, error) {
	refused, err := r.IsRefused(teamID, hash, now)
	if err != nil {
		return false, err
	}
	suppression, err := r.SuppressionByAddress(teamID, hash)
	if errors.Is(err, db.ErrNotFound) {
		return refused, nil
	}
	return refused || suppression.Origin != app.OriginUnsubscribe, err
}

// addressState is what decides whether an opt-in gets a confirmation. It is read in the same way whatever
// it is, so that no answer takes longer for one address than for another.
type addressState struct {
	pending []db.OptIn // newest first
	allowed bool       // by the limits of the address
	blocked bool
}

func readAddress(r *db.Reader, teamID string, hash app.AddressHash, person []byte, now time.Time) (st addressState, err error) {
	if st.pending, err = r.PendingOptIns(teamID, hash, maxPendingSame); err != nil {
		return st, err
	}
	sent, err := r.Confirmations(person, now.Add(-limitsFor), maxConfirmationRows)
	if err != nil {
		return st, err
	}
	st.allowed = mayConfirm(sent, teamID, now)
	st.blocked, err = blocked(r, teamID, hash, now)
	return st, err
}

// maxConfirmationRows bounds the rows that are read of an address. The limit of all teams keeps fewer.
const maxConfirmationRows = 2 * allPer30d

// earlier returns the newest pending opt-in whose link still works, other than one; empty: none.
func (st *addressState) earlier(except string, now time.Time) string {
	for i := range st.pending {
		o := &st.pending[i]
		if o.ID != except && o.Mail == db.OptInMailSent && now.Before(linkEnds(o)) {
			return o.ID
		}
	}
	return ""
}

// waiting returns the opt-in of the same form that waits for its confirmation; empty: none.
func (st *addressState) waiting(form string) string {
	for i := range st.pending {
		if o := &st.pending[i]; o.FormID == form && o.Mail == db.OptInDue {
			return o.ID
		}
	}
	return ""
}

// linkEnds returns when the link of an opt-in stops working.
func linkEnds(o *db.OptIn) time.Time {
	if o.SentAt.IsZero() { // it is unknown when it was sent: a restored backup does not have that
		return o.RequestedAt.Add(app.OptInWaitsFor + app.OptInLinkFor)
	}
	return o.SentAt.Add(app.OptInLinkFor)
}

// isCrowded reports whether a form has too many waiting confirmations for another one of a range.
func (s *Service) isCrowded(r *db.Reader, o *db.OptIn, proof bool, due int) (bool, error) {
	n := 0
	if o.Range != "" {
		var err error
		if n, err = r.CountDueOfRange(o.TeamID, o.FormID, o.Range, maxDueOfRange); err != nil {
			return false, err
		}
	}
	most := maxDueOfRange
	if !proof {
		most = maxDueNoProof
	}
	return n >= most || due >= maxDue || due >= softDue && n > 0, nil
}

// dueOf returns how many confirmations of a form wait, as of the last seconds.
func (s *Service) dueOf(ctx context.Context, teamID, formID string) (int, error) {
	return s.due.Load(ctx, formID, func(ctx context.Context) (int, error) {
		return db.Get(ctx, s.DB, func(r *db.Reader) (int, error) { return r.CountDue(teamID, formID, maxDue) })
	})
}

// capacity is how many confirmations a form may send now.
type capacity struct {
	left int
	next time.Time // if none: when the first is free again
}

// capacityOf reads how many confirmations a form may send now.
func capacityOf(r *db.Reader, f *app.Form, now time.Time) (c capacity, err error) {
	perDay := f.PerDay()
	sent, err := r.FormConfirmations(f.ID, now.Add(-day), perDay)
	if err != nil {
		return c, err
	}
	inHour := 0
	for inHour < len(sent) && now.Sub(sent[inHour]) < time.Hour {
		inHour++
	}
	c.left = min(perDay-len(sent), app.MaxConfirmationsPerHour-inHour)
	if inHour >= app.MaxConfirmationsPerHour {
		c.next = sent[app.MaxConfirmationsPerHour-1].Add(time.Hour)
	}
	if len(sent) >= perDay {
		c.next = later(c.next, sent[perDay-1].Add(day))
	}
	return c, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// rest makes the dispatcher leave a form alone until a time.
func (s *Service) rest(f db.DueForm, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := clock.Now(); until.After(now) {
		s.resting[f] = until
	} else {
		delete(s.resting, f)
		s.wake.Notify()
	}
}
